"""The rows: complete, consistent, and in the words of the texts that they cite."""

from __future__ import annotations

import re

import onnx.defs
import pytest

from strategies import BACKPROP, ONEDNN, ONNX
from tconv.dialects import DIALECTS, Absent, Dialect, Open, Stated, dialect_named
from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.rules import QUESTIONS, Negative, Odd, Same, Sized
from tconv.errors import UsageError
from tconv.nearest_word import nearest
from tconv.vocabulary import ATTRIBUTES, AutoPad, DataFormat, FilterFormat

ONNX_1, ONNX_11, ONNX_22 = ONNX
EVERY_DIALECT = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
DISPUTED = pytest.mark.parametrize(
    "dialect", [dialect for dialect in DIALECTS.values() if dialect.disputed], ids=lambda dialect: dialect.name
)
TEXTS = DIALECTS.keys() - {"geometry/1"}


# Completeness.


def test_the_dialects() -> None:
    """Four specifications at their versions, the grouped sibling, and plain geometry; keys are the rows' names."""
    assert set(DIALECTS) == {*ONNX, ONEDNN, *BACKPROP, "geometry/1"}
    assert all(name == dialect.name for name, dialect in DIALECTS.items())


@EVERY_DIALECT
def test_every_constraint_is_answered(dialect: Dialect) -> None:
    """A row answers every constraint there is, and none that there is not."""
    assert dialect.constraints.keys() == CONSTRAINTS.keys()


@EVERY_DIALECT
def test_every_answer_has_a_clause(dialect: Dialect) -> None:
    """A constraint's answer says where it stands or why it is open; a question's answer cites its clause."""
    assert all(answer.clause.strip() for answer in dialect.constraints.values())
    assert set(dialect.cites) == set(QUESTIONS)
    assert all(clause.strip() for clause in dialect.cites.values())
    assert dialect.text.strip()


@EVERY_DIALECT
def test_every_answer_answers_its_question(dialect: Dialect) -> None:
    """Questions of padding, size, side and sign get answers of their own kind."""
    kinds = {"same": Same, "sized": Sized, "odd": Odd, "negative": Negative}
    for question in QUESTIONS:
        assert isinstance(getattr(dialect.rules, question), kinds[question.split("_")[0]])


@EVERY_DIALECT
def test_what_has_no_value_where_it_is_broken_is_never_allowed(dialect: Dialect) -> None:
    """No text can owe a value where the operator has none: such a constraint is stated or open."""
    allowed = [name for name, constraint in CONSTRAINTS.items() if constraint.needed]
    assert [name for name in allowed if isinstance(dialect.constraints[name], Absent)] == []


@DISPUTED
def test_disputed_readings_dispute(dialect: Dialect) -> None:
    """A disputed reading answers a question of the rules, with another answer than the primary one, and says why."""
    for reading in dialect.disputed:
        primary = getattr(dialect.rules, reading.change.question)
        assert reading.change.answer != primary
        assert type(reading.change.answer) is type(primary)
        assert reading.says.endswith(".")
        assert reading.cites.strip()


@DISPUTED
def test_names_of_readings_are_stable_words(dialect: Dialect) -> None:
    """Names are unique in a row, lower-case words with hyphens, and not those of refused constraints."""
    names = [reading.name for reading in dialect.disputed]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)+", name) for name in names)
    assert {f"{name}-refused" for name in CONSTRAINTS}.isdisjoint(names)


def test_a_reading_of_one_name_is_the_same_change_everywhere() -> None:
    """Reports compare dialects by the names of readings, so a name means one change of one question."""
    changes: dict[str, set[object]] = {}
    for dialect in DIALECTS.values():
        for reading in dialect.disputed:
            changes.setdefault(reading.name, set()).add(reading.change)
    assert {name: len(found) for name, found in changes.items() if len(found) > 1} == {}


@DISPUTED
def test_no_answer_is_disputed_twice(dialect: Dialect) -> None:
    """Two readings that change the same question to the same answer would be one reading under two names."""
    changes = [reading.change for reading in dialect.disputed]
    assert len(set(changes)) == len(changes)


# Spelling.


@EVERY_DIALECT
def test_spelling_covers_what_the_row_allows(dialect: Dialect) -> None:
    """An attribute is spelt, or is an input, or has a stated constraint that keeps it away, or is a layout."""
    kept_away = {
        "auto_pad": "without-auto-pad",
        "output_shape": "without-output-shape",
        "kernel_shape": "without-kernel-shape",
        "groups": "without-groups",
    }
    for name in ATTRIBUTES:
        spelt = name in dialect.spelling.attributes or name in dialect.spelling.inputs
        if name in {"data_format", "filter_format"} or (
            name == "groups" and dialect.filter_format is FilterFormat.GIOX
        ):
            continue
        if name in kept_away:
            assert spelt != isinstance(dialect.constraints[kept_away[name]], Stated), name
        else:
            assert spelt, name
    assert ("b" in dialect.spelling.inputs) != isinstance(dialect.constraints["without-bias"], Stated)


@EVERY_DIALECT
def test_modes_and_layouts_are_spelt_one_by_one(dialect: Dialect) -> None:
    """Two modes, or two layouts, never get the same word."""
    for words, known in (
        (dialect.spelling.auto_pad, AutoPad),
        (dialect.spelling.data_formats, DataFormat),
        (dialect.spelling.filter_formats, FilterFormat),
    ):
        assert len(set(words.values())) == len(words)
        assert words.keys() <= {str(word) for word in known}
    if "auto_pad" in dialect.spelling.attributes:
        assert set(dialect.spelling.auto_pad) == set(AutoPad)
    assert bool(dialect.spelling.data_formats) == ("data_format" in dialect.spelling.attributes)
    assert bool(dialect.spelling.filter_formats) == ("filter_format" in dialect.spelling.attributes)


@EVERY_DIALECT
def test_what_is_required_is_written(dialect: Dialect) -> None:
    """An attribute whose absence is invalid or unclear is written at its neutral value, and no other is."""
    given = {"strides": ["strides"], "dilations": ["dilations"], "pads": ["pads_begin", "pads_end"]}
    clear = {name for name, answer in dialect.constraints.items() if isinstance(answer, Absent)}
    required = [name for key, names in given.items() if f"{key}-given" not in clear for name in names]
    assert sorted(dialect.spelling.written) == sorted(required)


def test_default_layouts() -> None:
    """ONNX, OpenVINO: one layout each, the inputs'. oneDNN: 'Default value: NXC', filter_format XOI, or XIO."""
    assert {name: (dialect.data_format.value, dialect.filter_format.value) for name, dialect in DIALECTS.items()} == {
        ONNX_1: ("NCX", "IOX"),
        ONNX_11: ("NCX", "IOX"),
        ONNX_22: ("NCX", "IOX"),
        "onednn/ConvTranspose-1": ("NXC", "XOI"),
        "onednn/ConvolutionBackpropData-1": ("NXC", "XOI"),
        "openvino/ConvolutionBackpropData-1": ("NCX", "IOX"),
        "openvino/GroupConvolutionBackpropData-1": ("NCX", "GIOX"),
        "geometry/1": ("NCX", "IOX"),
    }


@pytest.mark.parametrize(
    ("constraint", "stated", "left_open"),
    [
        ("pads-without-auto-pad", {*ONNX}, set()),
        ("output-padding-below-stride-or-dilation", {ONNX_11, ONNX_22}, set()),
        ("strides-given", {ONEDNN, *BACKPROP}, {ONNX_1}),
        ("dilations-given", {ONEDNN, *BACKPROP}, {ONNX_1}),
        ("pads-given", {ONEDNN}, {*BACKPROP}),
        ("without-bias", {*BACKPROP}, set()),
        ("without-groups", {"openvino/ConvolutionBackpropData-1"}, set()),
        ("without-output-shape", {ONEDNN}, set()),
        ("without-kernel-shape", {ONEDNN, *BACKPROP}, set()),
        ("without-auto-pad", set(), set()),
        ("without-bf16", {ONNX_1, ONNX_11}, set()),
        ("without-f64", {ONEDNN}, set()),
        ("two-or-three-spatial-axes", set(), {ONEDNN}),
        ("at-least-one-spatial-axis", {*BACKPROP}, {*ONNX, ONEDNN}),
        ("strides-positive", {ONEDNN, *BACKPROP}, {*ONNX}),
        ("dilations-positive", {ONEDNN, *BACKPROP}, {*ONNX}),
        ("pads-non-negative", {*TEXTS}, set()),
        ("output-padding-non-negative", {ONEDNN, *BACKPROP}, {*ONNX}),
        ("strides-length", set(), {*TEXTS}),
        ("dilations-length", set(), {*TEXTS}),
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
        ("output-size-non-negative", set(), {*TEXTS}),
        *[
            (f"{what}-not-empty", set(), {*TEXTS})
            for what in ("batch", "channels", "spatial", "kernel", "output")
        ],
    ],
)  # fmt: skip
def test_stated_and_open_constraints(constraint: str, stated: set[str], left_open: set[str]) -> None:
    """Each text states a constraint, leaves it open, or allows what it forbids, as its clauses say."""
    answers = {name: DIALECTS[name].constraints[constraint] for name in TEXTS}
    assert {name for name, answer in answers.items() if isinstance(answer, Stated)} == stated
    assert {name for name, answer in answers.items() if isinstance(answer, Open)} == left_open


def test_geometry_is_onnx_without_what_rules_decide() -> None:
    """geometry/1 has plain pads, negative ones too, no mode and no output_shape; nothing in it is disputed or open."""
    dialect = DIALECTS["geometry/1"]
    assert dialect.disputed == ()
    assert not any(isinstance(answer, Open) for answer in dialect.constraints.values())
    for name in ("without-auto-pad", "without-output-shape", "without-kernel-shape", "strides-positive"):
        assert isinstance(dialect.constraints[name], Stated)
    for name in ("pads-non-negative", "output-padding-below-stride-or-dilation", "batch-not-empty", "without-bias"):
        assert isinstance(dialect.constraints[name], Absent)


# Citations.


def quoted(clause: str) -> list[str]:
    """Return the words between single quotes, cut at ellipses."""
    return [part.strip() for words in re.findall(r"'([^']+)'", clause) for part in words.split("...")]


def plain(text: str) -> str:
    """Return text for comparison: one space between words, no quotes of any kind."""
    return re.sub(r"[\s`'\"]+", " ", text)


@pytest.mark.parametrize(("name", "version"), [(ONNX_1, 1), (ONNX_11, 11), (ONNX_22, 22)])
def test_onnx_is_quoted_word_for_word(name: str, version: int) -> None:
    """What a clause has in quotes stands in the operator's schema of that version."""
    schema = onnx.defs.get_schema("ConvTranspose", version, "")
    assert schema.since_version == version
    parts = [schema.doc, *(attribute.description for attribute in schema.attributes.values())]
    text = plain(" ".join([*parts, *(f"{tensor.name} {tensor.description}" for tensor in schema.inputs)]))
    dialect = DIALECTS[name]
    clauses = [
        *dialect.cites.values(),
        *(clause for reading in dialect.disputed for clause in (reading.cites, reading.against)),
        *(answer.clause for answer in dialect.constraints.values()),
    ]
    quotations = [words for clause in clauses for words in quoted(clause)]
    assert len(quotations) > 20
    assert [words for words in quotations if plain(words) not in text] == []


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
    assert set(dialect.spelling.attributes.values()) == set(schema.attributes)
    assert [dialect.spelling.inputs[role] for role in ("x", "w", "b")] == [tensor.name for tensor in schema.inputs]
    types = schema.type_constraints[0].allowed_type_strs
    assert isinstance(dialect.constraints["without-bf16"], Stated) == ("tensor(bfloat16)" not in types)
    assert isinstance(dialect.constraints["without-f64"], Absent) == ("tensor(double)" in types)
    assert not any(attribute.required for attribute in schema.attributes.values())


# Looking up.


def test_a_dialect_is_found_by_its_name() -> None:
    """`dialect_named` returns the dialect that the table has under this name."""
    assert all(dialect_named(name) is dialect for name, dialect in DIALECTS.items())


def test_an_unknown_dialect_gets_the_list_and_the_nearest() -> None:
    """A name that is not known is answered with those that are, and the one probably meant."""
    with pytest.raises(UsageError) as caught:
        dialect_named("onnx/ConvTranspos-22")
    message = str(caught.value)
    assert message.startswith("dialect must be one of onnx/ConvTranspose-1, ")
    assert message.endswith("(got 'onnx/ConvTranspos-22'); did you mean 'onnx/ConvTranspose-22'?")
    with pytest.raises(UsageError) as caught:
        dialect_named("zzz")
    assert "did you mean" not in str(caught.value)


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
