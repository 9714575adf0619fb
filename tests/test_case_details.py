"""`tconv show`: what is asked, what each dialect makes of it, and how the tolerance is derived.

`golden/shown.yaml` has commands and what they print. `TCONV_GOLDEN=write` rewrites it.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import yaml
from click.testing import CliRunner

from strategies import case, every
from tconv.cli.show_command import command as show_command
from tconv.dialects import DIALECTS
from tconv.expectation.bound import derive
from tconv.expectation.expected import NotApplicable, Refuse, Values, expect
from tconv.reports import case_details
from tconv.vocabulary import DType
from test_wrong_input import GOLDEN, compare

if TYPE_CHECKING:
    from tconv.cases.case import Case

ONNX_11, ONNX_22 = "onnx/ConvTranspose-11", "onnx/ConvTranspose-22"
SHOWN = GOLDEN / "shown.yaml"


def account_of(example: Case, dialect_name: str = ONNX_22) -> list[str]:
    return list(case_details.in_dialect(example, DIALECTS[dialect_name]))


def output_of(arguments: str) -> str:
    words = shlex.split(arguments)
    return CliRunner().invoke(show_command, words, standalone_mode=False, catch_exceptions=False).output.rstrip("\n")


def test_each_command_shows_its_text() -> None:
    """Cases with values by hand in each dialect, readings, refusals, tolerances; sizes and attributes; the JSON."""
    compare(SHOWN, [output_of(entry["show"]) for entry in yaml.safe_load(SHOWN.read_text(encoding="utf-8"))])


def test_products_of_readings_are_told_together() -> None:
    lines = account_of(case((2,), (1,), strides=(4,), auto_pad="same_upper"), "openvino/ConvolutionBackpropData-1")
    assert "  under same-as-convolution + negative-same-appended" in lines
    for name in ("same-as-convolution", "negative-same-appended"):
        assert sum(line.startswith(f"  {name}: ") for line in lines) == 1
    assert "  a refusal is disputed: same-as-convolution + negative-same-refused" in lines


def test_special_values_do_not_hide_the_tolerance() -> None:
    """The element that is told has a finite limit; where none has, the formula stands alone."""
    special = case((9,), (2,), data="special")
    lines = account_of(replace(special, w=replace(special.w, data="normal")))
    assert "nan" in lines[-4]
    assert re.search(r"<= [\d.e-]+, remarkable above [\d.e-]+$", lines[-1])
    for nowhere in (case((2,), (1,), data="nan"), case((3,), (2,), output_shape=(0,), data="normal")):
        assert account_of(nowhere)[-2] == f"  tolerance   {derive(DType.F32)}"


@pytest.mark.parametrize(("size", "end"), [(24, "] in NCX order"), (25, ", ...] in NCX order")])
def test_long_lists_are_cut(size: int, end: str) -> None:
    (line,) = (line for line in account_of(case((size,), (1,))) if line.startswith("    expects"))
    assert line.endswith(end)
    assert line.removesuffix(", ...] in NCX order").count(", ") == 2 + 23


def test_every_gate_case_can_be_shown(gate_cases: tuple[Case, ...]) -> None:
    """A sample of some 300 cases has an account in every dialect, each of the kind that the dialect expects."""
    kinds = set()
    for example in gate_cases[:: every(18)]:
        assert next(case_details.of_case(example)) == example.id
        for dialect in DIALECTS.values():
            lines, expected = list(case_details.in_dialect(example, dialect)), expect(example, dialect)
            assert lines[0] == dialect.name
            assert not any("\n" in line for line in lines)
            kinds.add(type(expected))
            match expected:
                case NotApplicable():
                    assert lines[1].startswith("  not applicable: ")
                case Refuse(_, stated):
                    assert lines[3].startswith("  expects a refusal: " if stated else "  no value exists: ")
                case Values(_, disputed, refusals):
                    assert sum(line.startswith("    expects ") for line in lines) == 1 + len(disputed)
                    assert sum(line.startswith("  a refusal is disputed: ") for line in lines) == len(refusals)
                    assert sum(line.startswith("  tolerance   ") for line in lines) == 1
    assert kinds == {NotApplicable, Refuse, Values}
