"""The atlas's script and the resolver: one arithmetic. Node must be there."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import examples
from tconv.dialects import DIALECTS
from tconv.dialects.geometry import Geometry, resolve
from tconv.dialects.rules import Answer, Rules
from tconv.reports.atlas import rendering
from tconv.reports.atlas.ported_texts import ported_texts
from tconv.reports.scripts import joined
from tconv.vocabulary import Attributes, AutoPad, DType, Signature, TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NODE = shutil.which("node") or ""
pytestmark = pytest.mark.skipif(not NODE, reason="there is no node; tox -e lint brings it")
KINDS = {kind.__name__: kind for kind in get_args(Answer)}
RULES = st.builds(Rules, **{each.name: st.sampled_from(KINDS[str(each.type)]) for each in fields(Rules)})


@st.composite
def written(draw: st.DrawFn) -> dict[str, Any]:
    """Return attributes of one to three axes, each with a list."""
    rank = draw(st.integers(1, 3))
    names = ("spatial", "kernel", "strides", "dilations", "pads_begin", "pads_end", "output_padding")
    least = {"pads_begin": 0, "pads_end": 0, "output_padding": 0}
    lists = {name: draw(st.lists(st.integers(least.get(name, 1), 5), min_size=rank, max_size=rank)) for name in names}
    size = draw(st.none() | st.lists(st.integers(0, 20), min_size=rank, max_size=rank))
    return {**lists, "output_shape": size, "auto_pad": str(draw(st.sampled_from(AutoPad)))}


@pytest.fixture(scope="module")
def ask() -> Iterator[Callable[[object], Any]]:
    """Return a function that asks the page's resolver; it starts node once."""
    command = [NODE, str(Path(__file__).with_name("resolve.js"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") as node:
        assert node.stdin is not None
        assert node.stdout is not None

        def answer(question: object) -> Any:  # noqa: ANN401 - JSON
            node.stdin.write(json.dumps(question) + "\n")  # type: ignore[union-attr] # it was asserted
            node.stdin.flush()  # type: ignore[union-attr]
            return json.loads(node.stdout.readline())  # type: ignore[union-attr]

        yield answer
        node.stdin.close()


@examples(500)
@given(written(), RULES)
def test_page_and_resolver_have_one_arithmetic(
    ask: Callable[[object], Any], attributes: dict[str, Any], rules: Rules
) -> None:
    """Whatever is written, under whatever rules: the same geometry, or none, on the page and in the harness."""
    names = ("strides", "dilations", "pads_begin", "pads_end", "output_padding", "output_shape")
    given_lists = {name: attributes[name] and tuple(attributes[name]) for name in names}
    x, w = (TensorType((1, 1, *attributes[name]), DType.F32) for name in ("spatial", "kernel"))
    signature = Signature(Attributes(**given_lists, auto_pad=attributes["auto_pad"]), x, w, None)
    result = resolve(signature, rules)
    expected = [list(result.pads_begin), list(result.output)] if isinstance(result, Geometry) else None
    assert ask([attributes, {each.name: getattr(rules, each.name) for each in fields(Rules)}]) == expected


def test_modules_fit_into_one_script() -> None:
    """No two modules give the same name to different things."""
    script = joined(rendering.SCRIPTS)
    subprocess.run([NODE, "--check", "--input-type=module", "-"], input=script, encoding="utf-8", check=True)


def test_every_text_is_told_by_its_own_rules() -> None:
    """Each dialect has an answer to every question among those that the page knows."""
    told = ported_texts(tuple(DIALECTS.values()))
    for text in told["texts"]:
        assert set(text["rules"]) == set(told["questions"])
        assert all(answer in told["questions"][question]["answers"] for question, answer in text["rules"].items())
