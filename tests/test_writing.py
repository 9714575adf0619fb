"""A case that is written as a case file is read as the same case."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import attributes, axes, case, examples
from tconv.cases.case import Case, Cite, Expected, Filling, Operand
from tconv.corpus import Corpus
from tconv.corpus.building import ImpossibleCase, build
from tconv.corpus.writing import flow, settings, write_case_file
from tconv.dialects.constraints import CONSTRAINTS
from tconv.documents.tree import kind_of, value_of
from tconv.shown_texts import printable
from tconv.vocabulary import ATTRIBUTES, Attributes, DataFormat, DType, FilterFormat

if TYPE_CHECKING:
    from pathlib import Path

CITES = (Cite("onnx/ConvTranspose-22", "doc"),)
CONTENT = (
    "attributes", "x", "w", "b", "shapes", "data_source", "filter_source", "bias_source", "output_shape_source",
    "spelling", "breaks", "omit", "expected", "tier", "about",
)  # fmt: skip
FILLS = get_args(Filling)


def loaded(case: Case, folder: Path) -> Case:
    path = folder / "written.yaml"
    path.write_text(write_case_file([replace(case, cites=CITES)], "Written."), encoding="utf-8")
    (found,) = Corpus.load(path).cases("full")
    return found


def content(case: Case) -> dict[str, str]:
    """Return a case without its id; as text, so that NaN is NaN and -0.0 is not 0.0."""
    return {name: repr(getattr(case, name)) for name in CONTENT}


@st.composite
def operands(draw: st.DrawFn, shape: tuple[int, ...]) -> Operand:
    dtype, seed = draw(st.sampled_from(DType)), draw(st.integers(0, 3))
    if draw(st.booleans()):
        return Operand(shape, dtype, draw(st.sampled_from(FILLS)), seed)
    values = draw(st.lists(st.floats(), min_size=math.prod(shape), max_size=math.prod(shape)))
    return Operand(shape, dtype, "values", seed, tuple(values))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Return cases that a file can hold: operands that agree about sizes, and every now and then one that does not."""
    rank, groups = draw(st.integers(1, 3)), draw(st.none() | st.integers(1, 3))
    inputs, outputs = (groups or 1) * draw(st.integers(1, 2)), draw(st.integers(1, 2))
    x, w = draw(axes(rank, 1, 2)), draw(axes(rank, 1, 2))
    drawn = draw(attributes(rank))
    given_ = replace(
        drawn,
        auto_pad=drawn.auto_pad and str(drawn.auto_pad),
        groups=groups,
        kernel_shape=draw(st.sampled_from([None, w])),
        data_format=draw(st.none() | st.sampled_from([*map(str, DataFormat)])),
        filter_format=draw(st.none() | st.sampled_from([*map(str, FilterFormat)])),
    )
    bias = draw(st.none() | operands((outputs * (groups or 1),)))
    return Case(
        "written/name",
        given_,
        draw(operands((1, inputs, *x))),
        draw(operands((inputs, outputs, *w))),
        bias,
        draw(st.sampled_from(["static", "symbolic", "unranked"])),
        draw(st.sampled_from(["initializer", "input"])),
        omit=tuple(draw(st.lists(st.sampled_from(["strides", "pads_begin"]), unique=True))),
        about=draw(st.text(max_size=20).filter(lambda text: printable(text) == text)),
        data_source=draw(st.sampled_from(["initializer", "input"])),
        bias_source=draw(st.sampled_from([None, "initializer", "input", *["unnamed"] * (bias is None)])),
        output_shape_source=draw(st.sampled_from(["initializer", "input"])),
        spelling=draw(st.sampled_from(["library", "page"])),
    )


@given(cases())
@examples(100)
def test_what_is_written_is_read(one: Case) -> None:
    left_out: dict[str, Any] = dict.fromkeys(one.omit)
    one = replace(one, attributes=replace(one.attributes, **left_out))
    again = build(one.id, settings(one), about=one.about)
    assert content(again) == content(one)


@given(one=cases())
@examples(40)
def test_what_is_written_to_a_file_is_read(one: Case, tmp_path_factory: pytest.TempPathFactory) -> None:
    left_out: dict[str, Any] = dict.fromkeys(one.omit)
    one = replace(one, attributes=replace(one.attributes, **left_out))
    assert content(loaded(one, tmp_path_factory.mktemp("written"))) == content(one)


def test_every_single_case_of_the_corpus_is_written(corpus: Corpus, tmp_path: Path) -> None:
    """Also those that break something, whose shapes do not fit: all in one file."""
    singles = list(corpus.singles.values())
    assert {case.breaks for case in singles} & set(CONSTRAINTS)
    named = [replace(case, id=f"all/case-{number}") for number, case in enumerate(singles)]
    path = tmp_path / "all.yaml"
    path.write_text(write_case_file(named, "All of them."), encoding="utf-8")
    assert [content(case) for case in Corpus.load(path).cases("full")] == [content(case) for case in named]
    texts = ("dialects: ", "clause: ")
    assert [s for s in path.read_text().splitlines() if len(s) > 120 and not any(text in s for text in texts)] == []


def test_invalid_cases_of_the_corpus_are_written(corpus: Corpus) -> None:
    """Of sweeps too: lists of another length, operands of another rank, words that nobody knows."""
    invalid = list(corpus.cases("gate", ["invalid"]))
    assert len(invalid) > 50
    for invalid_case in invalid:
        assert content(
            build(invalid_case.id, settings(invalid_case), about=invalid_case.about, expected=invalid_case.expected)
        ) == content(replace(invalid_case, tier="gate"))


def test_literal_outputs_are_written(tmp_path: Path) -> None:
    one = replace(case((1,), (1,)), expected=(Expected(("geometry/1",), (1,), (2.5,)),), tier="smoke")
    assert content(loaded(one, tmp_path)) == content(one)


@pytest.mark.parametrize("word", ["null", "1e5", "0o17", "~", "a: b", "#", 'quo"te\\', "", "\U0001f600", "- a"])
def test_any_word_is_a_word(word: str, tmp_path: Path) -> None:
    one = case((1,), (1,), auto_pad=word, breaks="auto-pad-known")
    assert loaded(one, tmp_path).attributes.auto_pad == word


@given(st.floats())
def test_numbers_are_read_as_they_are(value: float) -> None:
    text = flow(value)
    assert repr(float(value_of(kind_of(text), text))) == repr(value)  # type: ignore[arg-type] # a number


def test_all_attributes_are_written() -> None:
    """A new one that the writer did not know would be lost."""
    lists = dict.fromkeys(ATTRIBUTES, (3,)) | {"groups": 3, "auto_pad": "valid"}
    given_ = Attributes(**lists | {"data_format": "NXC", "filter_format": "XOI"})  # type: ignore[arg-type] # by name
    assert set(settings(replace(case((1,), (3,)), attributes=given_))) >= set(ATTRIBUTES)


def test_what_cannot_be_is_not_built() -> None:
    with pytest.raises(ImpossibleCase, match="filter must have"):
        build("a/b/c", settings(replace(case((4,), (3,)), w=Operand((2, 1, 3), DType.F32))))
