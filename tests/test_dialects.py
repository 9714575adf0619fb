"""The rows: complete, consistent, and in the words of the texts that they cite."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx.defs
import pytest

from strategies import BACKPROP, ONEDNN, ONNX, case
from tconv.backends.onnx_graph import ELEMENT_TYPES
from tconv.cases.call import express
from tconv.dialects import DIALECTS, Absent, Dialect, NoWord, Open, Stated
from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.dialect import SAID_ELSEWHERE, Spelling
from tconv.dialects.rules import QUESTIONS
from tconv.errors import Invalid
from tconv.expectation.expected import NotApplicable, Refuse, Values, expect
from tconv.nearest_word import nearest
from tconv.vocabulary import ATTRIBUTES, AutoPad, DataFormat, DType, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Callable

ONNX_1, ONNX_11, ONNX_22 = ONNX
EVERY_DIALECT = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
DISPUTED = pytest.mark.parametrize(
    "dialect", [dialect for dialect in DIALECTS.values() if dialect.disputed], ids=lambda dialect: dialect.name
)
SHARED = (*ONNX, ONEDNN, *BACKPROP)
"""The texts that say the same on most questions."""


# Completeness.


def test_the_dialects() -> None:
    """Keys are the rows' names, and every text can be read here but our own geometry."""
    assert all(name == dialect.name for name, dialect in DIALECTS.items())
    assert TEXT_OF.keys() == DIALECTS.keys() - {"geometry/1"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"answers": {}}, "answers .*missing: negative_same, .*same"),
        ({"constraints": {"strides-positiv": Absent()}}, r"unknown: strides-positiv\)"),
        ({"constraints": {}}, "missing: .*strides-positive"),
        ({"spelling": Spelling({}, {})}, "attributes .*missing: auto_pad, "),
        ({"name": "onnx"}, r"the name of a dialect must be text/Operator-version \(got 'onnx'\)"),
        ({"constraints": {"channels-divisible": Absent()}}, "channels-divisible of dialect .* must not be absent"),
    ],
)
def test_a_row_that_is_not_complete_is_refused(changes: dict[str, Any], message: str) -> None:
    """When it is imported: later it would be a question of no answer, or of a wrong one."""
    with pytest.raises(ValueError, match=message):
        replace(DIALECTS["onnx/ConvTranspose-22"], **changes)


@EVERY_DIALECT
def test_every_answer_has_a_clause(dialect: Dialect) -> None:
    assert all(answer.clause.strip() for answer in dialect.constraints.values())
    assert set(dialect.cites) == set(QUESTIONS)
    assert all(clause.strip() for clause in dialect.cites.values())
    assert dialect.text.strip()


@DISPUTED
def test_names_of_readings_are_stable_words(dialect: Dialect) -> None:
    names = [reading.name for reading in dialect.disputed]
    assert len(set(names)) == len(names) == len({reading.change for reading in dialect.disputed})
    assert all(reading.says for reading in dialect.disputed)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)+", name) for name in names)
    assert {f"{name}-refused" for name in CONSTRAINTS}.isdisjoint(names)


def test_a_reading_of_one_name_is_the_same_change_everywhere() -> None:
    changes: dict[str, set[object]] = {}
    for dialect in DIALECTS.values():
        for reading in dialect.disputed:
            changes.setdefault(reading.name, set()).add(reading.change)
    assert {name: len(found) for name, found in changes.items() if len(found) > 1} == {}


# Spelling.


@EVERY_DIALECT
def test_spelling_is_total(dialect: Dialect) -> None:
    """Every attribute and input has a word, or says that there is none and why; values are the vocabulary's.

    The default layouts are among them.
    """
    spelling = dialect.spelling
    assert spelling.attributes.keys() == set(ATTRIBUTES)
    assert spelling.inputs.keys() - {"output_shape"} == {"x", "w", "b"}
    words = (*spelling.attributes.values(), *spelling.inputs.values())
    assert all(word.clause.strip() for word in words if isinstance(word, NoWord))
    assert spelling.auto_pad.keys() <= set(AutoPad)
    assert spelling.data_formats.keys() <= set(DataFormat)
    assert spelling.filter_formats.keys() <= set(FilterFormat)
    assert set(spelling.types) <= set(DType)
    assert (dialect.data_format in spelling.data_formats, dialect.filter_format in spelling.filter_formats) == (
        True,
        True,
    )
    assert bool(spelling.auto_pad) == isinstance(spelling.attributes["auto_pad"], str)


@EVERY_DIALECT
def test_modes_and_layouts_are_spelt_one_by_one(dialect: Dialect) -> None:
    spelling = dialect.spelling
    for words in (spelling.auto_pad, spelling.data_formats, spelling.filter_formats):
        written = [word for word in words.values() if word]
        if words is not spelling.auto_pad or isinstance(spelling.attributes["pads_begin"], str):
            assert len(set(written)) == len(written)


@EVERY_DIALECT
@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("auto_pad", mode) for mode in AutoPad),
        *(("data_format", layout) for layout in DataFormat),
        *(("filter_format", layout) for layout in FilterFormat),
        *((name, (2, 2)) for name in ("strides", "dilations", "output_padding", "output_shape", "kernel_shape")),
        ("pads_begin", (1, 1)),
        ("groups", 2),
    ],
)
def test_what_has_no_word_is_refused_and_never_dropped(dialect: Dialect, name: str, value: Any) -> None:  # noqa: ANN401 - an attribute's value
    """A value is written, or said by an input or a layout; or it is not applicable, and nothing can be made of it."""
    asked = case((5, 4), (2, 2), channels=4, filters=2, **{name: value})
    found = dialect.spelling.spelt(name, value)
    if name == "pads_begin" and dialect.spelling.one_pad:
        asked = case((5, 4), (2, 2), channels=4, filters=2, pads_begin=value, pads_end=value)
    if name == "output_shape" and dialect.spelling.whole_shape:
        # A size that leads back.
        asked = case((5, 4), (2, 2), channels=4, filters=2, output_shape=(6, 5))
        value = (6, 5, 2)
    if isinstance(found, NoWord):
        expected = expect(asked, dialect)
        assert isinstance(expected, NotApplicable)
        assert expected.violation.attribute == name
        with pytest.raises(Invalid):
            express(asked, dialect)
        return
    call, word = express(asked, dialect), dialect.spelling.attributes[name]
    if isinstance(word, NoWord):
        assert (name, value) == ("auto_pad", "explicit")
    elif word != SAID_ELSEWHERE:
        assert set(word.split()) <= call.attributes.keys()
    elif name == "output_shape":
        assert call.inputs[-1].values[-len(value) :] == value
    else:
        assert name in {"data_format", "filter_format"} or call.inputs[1].shape[0] == value


@pytest.mark.parametrize(
    ("begin", "end", "written"),
    [
        ((1, 2), (3, 4), (1, 3, 2, 4)),
        ((1, 2), None, (1, 0, 2, 0)),
        (None, (3, 4), (0, 3, 0, 4)),
        ((1, 2), (1, 2), (1, 1, 2, 2)),
    ],
)
def test_pads_may_be_written_axis_by_axis(begin: Any, end: Any, written: tuple[int, ...]) -> None:  # noqa: ANN401
    """In one attribute, beginning and end of the first axis and then of the next; a side that is left out is 0."""
    row = DIALECTS[ONNX_22]
    by_axis = replace(row, spelling=replace(row.spelling, pads_by_axis=True))
    asked = case((5, 4), (2, 2), pads_begin=begin, pads_end=end)
    assert express(asked, by_axis).attributes == {"pads": written}
    assert express(asked, row).attributes == {"pads": (*written[::2], *written[1::2])}


@EVERY_DIALECT
def test_what_is_required_is_written(dialect: Dialect) -> None:
    given = {"strides": ["strides"], "dilations": ["dilations"], "pads": ["pads_begin", "pads_end"]}
    clear = {name for name, answer in dialect.constraints.items() if isinstance(answer, Absent)}
    required = [name for key, names in given.items() if f"{key}-given" not in clear for name in names]
    # TFLite has no default for these either.
    required += ["auto_pad", "output_shape"] if dialect.spelling.whole_shape else []
    assert sorted(dialect.spelling.written) == sorted(required)


@pytest.mark.parametrize(
    ("constraint", "stated", "left_open"),
    [
        ("pads-without-auto-pad", {*ONNX}, set()),
        ("output-padding-below-stride-or-dilation", {ONNX_11, ONNX_22}, set()),
        ("output-padding-below-stride", set(), set()),
        ("strides-given", {ONEDNN, *BACKPROP}, {ONNX_1}),
        ("dilations-given", {ONEDNN, *BACKPROP}, {ONNX_1}),
        ("pads-given", {ONEDNN}, {*BACKPROP}),
        ("type-known", {ONNX_1, ONNX_11, ONEDNN}, set()),
        ("output-shape-leads-back", {ONEDNN}, set()),
        ("two-spatial-axes", set(), set()),
        ("two-or-three-spatial-axes", set(), {ONEDNN}),
        ("at-least-one-spatial-axis", {*BACKPROP}, {*ONNX, ONEDNN}),
        ("strides-positive", {ONEDNN, *BACKPROP}, {*ONNX}),
        ("dilations-positive", {ONEDNN, *BACKPROP}, {*ONNX}),
        ("pads-non-negative", {*SHARED}, set()),
        ("output-padding-non-negative", {ONEDNN, *BACKPROP}, {*ONNX}),
        ("strides-length", set(), {*SHARED}),
        ("dilations-length", set(), {*SHARED}),
        ("pads-length", {*ONNX}, {ONEDNN, *BACKPROP}),
        ("output-padding-length", {ONEDNN, *BACKPROP}, {*ONNX}),
        ("output-shape-length", {ONNX_11, ONNX_22, ONEDNN, *BACKPROP}, {ONNX_1}),
        ("output-shape-non-negative", {ONEDNN}, {*ONNX, *BACKPROP}),
        ("kernel-shape-matches", {ONEDNN, *BACKPROP}, {*ONNX}),
        ("groups-positive", {ONEDNN, BACKPROP[0], BACKPROP[1]}, {*ONNX, BACKPROP[2]}),
        ("channels-divisible", {ONEDNN, BACKPROP[1], BACKPROP[2]}, {*ONNX, BACKPROP[0]}),
        ("filter-channels-match", {*ONNX, ONEDNN, BACKPROP[1], BACKPROP[2]}, {BACKPROP[0]}),
        ("filter-rank-matches", {*ONNX, ONEDNN, BACKPROP[1], BACKPROP[2]}, {BACKPROP[0]}),
        ("bias-length", {*ONNX, *BACKPROP}, {ONEDNN}),
        ("at-most-three-spatial-axes", {BACKPROP[2]}, set()),
        ("one-type", {*ONNX, ONEDNN, BACKPROP[2]}, {BACKPROP[0], BACKPROP[1]}),
        ("output-size-non-negative", set(), {*SHARED}),
        *[
            (f"{what}-not-empty", set(), {*SHARED})
            for what in ("batch", "channels", "spatial", "kernel", "output")
        ],
    ],
)  # fmt: skip
def test_stated_and_open_constraints(constraint: str, stated: set[str], left_open: set[str]) -> None:
    answers = {name: DIALECTS[name].constraints[constraint] for name in SHARED}
    assert {name for name, answer in answers.items() if isinstance(answer, Stated)} == stated
    assert {name for name, answer in answers.items() if isinstance(answer, Open)} == left_open


def test_torch_says_what_it_takes_and_leaves_ranges_open() -> None:
    """One number for both sides, no mode and no size; lengths and shapes are demanded, ranges are not."""
    row = DIALECTS["torch/conv_transpose"]
    assert {name for name, word in row.spelling.attributes.items() if isinstance(word, NoWord)} == {
        "auto_pad",
        "output_shape",
        "kernel_shape",
    }
    stated = {name for name, answer in row.constraints.items() if isinstance(answer, Stated)}
    assert {"pads-length", "channels-divisible", "bias-length", "at-most-three-spatial-axes"} <= stated
    assert {name for name, answer in row.constraints.items() if isinstance(answer, Open)} == {
        *(f"{name}-positive" for name in ("strides", "dilations", "groups")),
        *(f"{name}-non-negative" for name in ("pads", "output-padding", "output-size")),
        *(f"{what}-not-empty" for what in ("batch", "channels", "spatial", "kernel", "output")),
        "output-padding-below-stride-or-dilation",
        "output-padding-below-stride",
        "one-type",
    }


def test_tflite_has_strides_and_a_mode_alone() -> None:
    """Nothing but stride, padding and the output's whole shape can be written, of f32 on a plane."""
    row = DIALECTS["tflite/TransposeConv"]
    assert {name for name, word in row.spelling.attributes.items() if isinstance(word, str)} == {
        "strides",
        "auto_pad",
        "output_shape",
        "data_format",
        "filter_format",
    }
    asked = case((3, 4), (5, 3), batch=2, channels=2, filters=6, bias=(6,), strides=(3, 2), auto_pad="same_upper")
    call = express(asked, row)
    assert call.attributes == {"stride_h": 3, "stride_w": 2, "padding": "SAME"}
    assert [(tensor.name, tensor.shape, tensor.values) for tensor in call.inputs] == [
        ("input", (2, 3, 4, 2), ()),
        ("weights", (6, 5, 3, 2), ()),
        ("bias", (6,), ()),
        # Whole, and the size that a convolution of stride 3 and 2 makes 3 x 4 elements of, as none is written.
        ("output_shape", (4,), (2, 9, 8, 6)),
    ]
    for words in ({"strides": (2,)}, {"auto_pad": "same_lower"}, {"data_format": "NCX"}, {"dtype": DType.F16}):
        assert isinstance(expect(case((3, 4), (5, 3), **words), row), NotApplicable)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("size", "mode", "begin"),
    [
        # Five taps at stride 3: 5 - 3 are padded of 9, 5 - 8 % 3 of 8 and 5 - 7 % 3 of 7.
        (9, "same_upper", 1),
        (8, "same_upper", 1),
        (7, "same_upper", 2),
        (11, "valid", 0),
        (13, "valid", 0),
    ],
)
def test_tflite_pads_as_the_convolution_of_its_output(size: int, mode: str, begin: int) -> None:
    """'pad_top = pad_along_height // 2', of what the convolution of an output of this size pads."""
    found = expect(
        case((3, 3), (5, 5), strides=(3, 3), auto_pad=mode, output_shape=(size, size)), DIALECTS["tflite/TransposeConv"]
    )
    assert isinstance(found, Values)
    assert (found.primary.geometry.pads_begin, found.primary.geometry.output) == ((begin, begin), (size, size))


@pytest.mark.parametrize(("size", "mode"), [(10, "same_upper"), (6, "same_upper"), (14, "valid"), (10, "valid")])
def test_tflite_takes_a_size_that_leads_back(size: int, mode: str) -> None:
    """A convolution of stride 3 makes 4 or 2 elements of 10 or 6 under SAME, of 14 or 10 under VALID."""
    asked = case(
        (3, 3), (5, 5), strides=(3, 3), auto_pad=mode, output_shape=(size, size), breaks="output-shape-leads-back"
    )
    assert isinstance(expect(asked, DIALECTS["tflite/TransposeConv"]), Refuse)
    assert isinstance(expect(replace(asked, breaks=None), DIALECTS["tflite/TransposeConv"]), NotApplicable)


@pytest.mark.parametrize(
    ("words", "output"),
    [
        # (5 - 1) * 3 + (3 - 1) * 2 + 1 - 1 - 2 = 14 on the first axis, and (4 - 1) * 2 + (2 - 1) + 1 - 0 - 1 = 7.
        ({}, (14, 7)),
        ({"output_padding": (2, 1)}, (16, 8)),
        ({"output_shape": (16, 8)}, (16, 8)),
        ({"output_shape": (15, 7), "output_padding": (9, 9)}, (15, 7)),
        ({"output_shape": (17, 7)}, None),
        ({"output_shape": (13, 7)}, None),
        ({"output_padding": (3, 0)}, None),
        ({"pads_begin": (-1, 0)}, None),
        ({"auto_pad": "same_upper"}, None),
        ({"dtype": DType.F64}, None),
    ],
)
def test_webnn_keeps_its_padding_under_a_size(words: Any, output: tuple[int, ...] | None) -> None:  # noqa: ANN401 - what `case` takes
    """A size is one that the stride leaves open; then output_padding is ignored. None: there is no such call."""
    row = DIALECTS["webnn/convTranspose2d"]
    given = {"strides": (3, 2), "dilations": (2, 1), "pads_begin": (1, 0), "pads_end": (2, 1)} | words
    found = expect(case((5, 4), (3, 2), **given), row)
    if output is None:
        assert isinstance(found, NotApplicable)
        return
    assert isinstance(found, Values)
    assert (found.primary.geometry.pads_begin, found.primary.geometry.output) == ((1, 0), output)
    assert not found.disputed


def test_webnn_writes_padding_axis_by_axis_and_layouts_in_letters() -> None:
    """`padding` has both sides of the height, then of the width; absent attributes are not written."""
    row = DIALECTS["webnn/convTranspose2d"]
    asked = case(
        (5, 4), (3, 2), channels=4, filters=3, groups=2, pads_begin=(1, 2), pads_end=(3, 0), data_format="NXC",
        filter_format="OXI",
    )  # fmt: skip
    call = express(asked, row)
    assert call.attributes == {"padding": (1, 3, 2, 0), "groups": 2, "inputLayout": "nhwc", "filterLayout": "ohwi"}
    assert [(tensor.name, tensor.shape) for tensor in call.inputs] == [
        ("input", (1, 5, 4, 4)),
        ("filter", (3, 3, 2, 4)),
    ]


def test_geometry_is_onnx_without_what_rules_decide() -> None:
    """geometry/1 has plain pads, negative ones too, no mode and no output_shape; nothing in it is disputed or open."""
    dialect = DIALECTS["geometry/1"]
    assert dialect.disputed == ()
    assert not any(isinstance(answer, Open) for answer in dialect.constraints.values())
    for name in ("auto_pad", "output_shape", "kernel_shape"):
        assert isinstance(dialect.spelling.attributes[name], NoWord)
    assert isinstance(dialect.constraints["strides-positive"], Stated)
    for name in ("pads-non-negative", "output-padding-below-stride-or-dilation", "batch-not-empty"):
        assert isinstance(dialect.constraints[name], Absent)


# Citations.


def quoted(clause: str) -> list[str]:
    """Return the words between single quotes, cut at ellipses."""
    return [part.strip() for words in re.findall(r"'([^']+)'", clause) for part in words.split("...")]


def plain(text: str) -> str:
    """Return text for comparison: one space between words, no quotes and no marks of emphasis of any kind."""
    return re.sub(r"[\s`'\"]+", " ", re.sub(r"[*\\]", "", text))


def _schema(version: int) -> str:
    schema = onnx.defs.get_schema("ConvTranspose", version, "")
    assert schema.since_version == version
    parts = [schema.doc, *(attribute.description for attribute in schema.attributes.values())]
    return " ".join([*parts, *(f"{tensor.name} {tensor.description}" for tensor in schema.inputs)])


def _page(*names: str) -> str:
    return " ".join((Path(__file__).parent / "specs" / name).read_text(encoding="utf-8") for name in names)


def _docstrings() -> str:
    torch = pytest.importorskip("torch", reason="there is no torch; tox -e torch has it")
    functions = (getattr(torch.nn.functional, f"conv_transpose{rank}d") for rank in (1, 2, 3))
    modules = (getattr(torch.nn, f"ConvTranspose{rank}d") for rank in (1, 2, 3))
    return " ".join(documented.__doc__ for documented in (*functions, *modules)).replace(":attr:", "")


OPENVINO = "openvino-ConvolutionBackpropData-1.md"
TEXT_OF: dict[str, Callable[[], str]] = {
    ONNX_1: partial(_schema, 1),
    ONNX_11: partial(_schema, 11),
    ONNX_22: partial(_schema, 22),
    ONEDNN: partial(_page, "onednn-graph-ConvTranspose-1.md"),
    BACKPROP[0]: partial(_page, "onednn-spec-ConvolutionBackpropData-1.rst"),
    BACKPROP[1]: partial(_page, OPENVINO),
    BACKPROP[2]: partial(_page, OPENVINO, "openvino-GroupConvolutionBackpropData-1.md"),
    "torch/conv_transpose": _docstrings,
    "tflite/TransposeConv": partial(_page, "tflite-TransposeConv.md"),
    "webnn/convTranspose2d": partial(_page, "webnn-convTranspose2d.md"),
}


@pytest.mark.parametrize("name", TEXT_OF)
def test_a_text_is_quoted_word_for_word(name: str) -> None:
    """What a clause of a row has in quotes stands in its text: of each answer, reading, constraint and missing word."""
    dialect, text = DIALECTS[name], plain(TEXT_OF[name]())
    spelling = dialect.spelling
    words = (*spelling.attributes.values(), *spelling.inputs.values(), spelling.one_pad)
    clauses = [
        *dialect.cites.values(),
        *(clause for reading in dialect.disputed for clause in (reading.cites, reading.against)),
        *(answer.clause for answer in dialect.constraints.values()),
        *(word.clause for word in words if isinstance(word, NoWord)),
        *(clause for ambiguity in dialect.ambiguities for clause in (ambiguity.words, ambiguity.against)),
    ]
    quotations = [words for clause in clauses for words in quoted(clause)]
    assert len(quotations) > 20
    assert [words for words in quotations if plain(words).strip() not in text] == []


@EVERY_DIALECT
def test_a_disputed_reading_has_the_sentence_for_it(dialect: Dialect) -> None:
    """Each disputed reading rests on words in quotes; words against it stand in quotes too."""
    for reading in dialect.disputed:
        assert quoted(reading.cites)
        assert not reading.against or quoted(reading.against) or "equations" in reading.against


@pytest.mark.parametrize(("name", "version"), [(ONNX_1, 1), (ONNX_11, 11), (ONNX_22, 22)])
def test_onnx_attributes_and_types_are_the_schemas(name: str, version: int) -> None:
    """The spelt attributes are those of the schema, and bfloat16 is allowed where the schema has it."""
    schema = onnx.defs.get_schema("ConvTranspose", version, "")
    dialect = DIALECTS[name]
    assert set(dialect.spelling.attributes.values()) - {SAID_ELSEWHERE} == set(schema.attributes)
    assert [dialect.spelling.inputs[role] for role in ("x", "w", "b")] == [tensor.name for tensor in schema.inputs]
    types = schema.type_constraints[0].allowed_type_strs
    assert {ELEMENT_TYPES[dtype] for dtype in dialect.spelling.types} == {
        onnx.TensorProto.DataType.Value(name[len("tensor(") : -1].upper()) for name in types
    }
    assert not any(attribute.required for attribute in schema.attributes.values())


# Looking up.


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("onnx/ConvTranspose-12", "'onnx/ConvTranspose-11'"),
        ("ONNX/ConvTranspose-21", "'onnx/ConvTranspose-11'"),
        ("onnx/ConvTranspose-10", "'onnx/ConvTranspose-1'"),
        ("onnx/ConvTranspose-23", "'onnx/ConvTranspose-22'"),
        ("onnx/ConvTranspose-2", "'onnx/ConvTranspose-22'"),
        ("ConvTranspose-13", "'onnx/ConvTranspose-11'"),
        ("onnx/ConvTranspose", "'onnx/ConvTranspose-1', 'onnx/ConvTranspose-11' or 'onnx/ConvTranspose-22'"),
        ("openvino/ConvolutionBackpropData-8", "'openvino/ConvolutionBackpropData-1'"),
    ],
)
def test_a_version_that_a_text_does_not_have_means_the_one_before_it(given: str, meant: str) -> None:
    """Operator set 12 has version 11, though '-1' looks nearer; a number may be cut off; without one all are told."""
    assert nearest(given, DIALECTS) == f"; did you mean {meant}?"
