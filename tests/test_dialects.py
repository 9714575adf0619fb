"""The rows: complete, consistent, and in the words of the texts that they cite."""

from __future__ import annotations

import re

import onnx.defs
import pytest

from strategies import BACKPROP, ONEDNN, ONNX
from tconv.dialects import DIALECTS, Absent, Dialect, Open, Stated, dialect_named
from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.rules import QUESTIONS, Negative, Odd, Rules, Same, Sized
from tconv.errors import UsageError
from tconv.nearest_word import nearest
from tconv.vocabulary import ATTRIBUTES, AutoPad, DataFormat, FilterFormat

ONNX_1, ONNX_11, ONNX_22 = ONNX
ROWS = pytest.mark.parametrize("row", DIALECTS.values(), ids=DIALECTS)
DISPUTED = pytest.mark.parametrize("row", [row for row in DIALECTS.values() if row.disputed], ids=lambda row: row.name)
TEXTS = DIALECTS.keys() - {"geometry/1"}


# Completeness.


def test_the_dialects() -> None:
    """Four specifications at their versions, the grouped sibling, and plain geometry; keys are the rows' names."""
    assert set(DIALECTS) == {*ONNX, ONEDNN, *BACKPROP, "geometry/1"}
    assert all(name == row.name for name, row in DIALECTS.items())


@ROWS
def test_every_constraint_is_answered(row: Dialect) -> None:
    """A row answers every constraint there is, and none that there is not."""
    assert row.constraints.keys() == CONSTRAINTS.keys()


@ROWS
def test_every_answer_has_a_clause(row: Dialect) -> None:
    """A constraint's answer says where it stands or why it is open; a question's answer cites its clause."""
    assert all(answer.clause.strip() for answer in row.constraints.values())
    assert set(row.cites) == set(QUESTIONS)
    assert all(clause.strip() for clause in row.cites.values())
    assert row.text.strip()


@ROWS
def test_every_answer_answers_its_question(row: Dialect) -> None:
    """Questions of padding, size, side and sign get answers of their own kind."""
    kinds = {"same": Same, "sized": Sized, "odd": Odd, "negative": Negative}
    for question in QUESTIONS:
        assert isinstance(getattr(row.rules, question), kinds[question.split("_")[0]])


@ROWS
def test_what_has_no_value_where_it_is_broken_is_never_allowed(row: Dialect) -> None:
    """No text can owe a value where the operator has none: such a constraint is stated or open."""
    allowed = [name for name, constraint in CONSTRAINTS.items() if constraint.needed]
    assert [name for name in allowed if isinstance(row.constraints[name], Absent)] == []


@DISPUTED
def test_disputed_readings_dispute(row: Dialect) -> None:
    """A disputed reading answers a question of the rules, with another answer than the primary one, and says why."""
    for reading in row.disputed:
        primary = getattr(row.rules, reading.change.question)
        assert reading.change.answer != primary
        assert type(reading.change.answer) is type(primary)
        assert reading.says.endswith(".")
        assert reading.cites.strip()


@DISPUTED
def test_names_of_readings_are_stable_words(row: Dialect) -> None:
    """Names are unique in a row, lower-case words with hyphens, and not those of refused constraints."""
    names = [reading.name for reading in row.disputed]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)+", name) for name in names)
    assert {f"{name}-refused" for name in CONSTRAINTS}.isdisjoint(names)


def test_a_reading_of_one_name_is_the_same_change_everywhere() -> None:
    """Reports compare dialects by the names of readings, so a name means one change of one question."""
    changes: dict[str, set[object]] = {}
    for row in DIALECTS.values():
        for reading in row.disputed:
            changes.setdefault(reading.name, set()).add(reading.change)
    assert {name: len(found) for name, found in changes.items() if len(found) > 1} == {}


@DISPUTED
def test_no_answer_is_disputed_twice(row: Dialect) -> None:
    """Two readings that change the same question to the same answer would be one reading under two names."""
    changes = [reading.change for reading in row.disputed]
    assert len(set(changes)) == len(changes)


# Spelling.


@ROWS
def test_spelling_covers_what_the_row_allows(row: Dialect) -> None:
    """An attribute is spelt, or is an input, or has a stated constraint that keeps it away, or is a layout."""
    kept_away = {
        "auto_pad": "without-auto-pad",
        "output_shape": "without-output-shape",
        "kernel_shape": "without-kernel-shape",
        "groups": "without-groups",
    }
    for name in ATTRIBUTES:
        spelt = name in row.spelling.attributes or name in row.spelling.inputs
        if name in {"data_format", "filter_format"} or (name == "groups" and row.filter_format is FilterFormat.GIOX):
            continue
        if name in kept_away:
            assert spelt != isinstance(row.constraints[kept_away[name]], Stated), name
        else:
            assert spelt, name
    assert ("b" in row.spelling.inputs) != isinstance(row.constraints["without-bias"], Stated)


@ROWS
def test_modes_and_layouts_are_spelt_one_by_one(row: Dialect) -> None:
    """Two modes, or two layouts, never get the same word."""
    for words, known in (
        (row.spelling.auto_pad, AutoPad),
        (row.spelling.data_formats, DataFormat),
        (row.spelling.filter_formats, FilterFormat),
    ):
        assert len(set(words.values())) == len(words)
        assert words.keys() <= {str(word) for word in known}
    if "auto_pad" in row.spelling.attributes:
        assert set(row.spelling.auto_pad) == set(AutoPad)
    assert bool(row.spelling.data_formats) == ("data_format" in row.spelling.attributes)
    assert bool(row.spelling.filter_formats) == ("filter_format" in row.spelling.attributes)


@ROWS
def test_what_is_required_is_written(row: Dialect) -> None:
    """An attribute whose absence is invalid or unclear is written at its neutral value, and no other is."""
    given = {"strides": ["strides"], "dilations": ["dilations"], "pads": ["pads_begin", "pads_end"]}
    clear = {name for name, answer in row.constraints.items() if isinstance(answer, Absent)}
    required = [name for key, names in given.items() if f"{key}-given" not in clear for name in names]
    assert sorted(row.spelling.written) == sorted(required)


def test_default_layouts() -> None:
    """ONNX, OpenVINO: one layout each, the inputs'. oneDNN: 'Default value: NXC', filter_format XOI, or XIO."""
    assert {name: (row.data_format.value, row.filter_format.value) for name, row in DIALECTS.items()} == {
        ONNX_1: ("NCX", "IOX"),
        ONNX_11: ("NCX", "IOX"),
        ONNX_22: ("NCX", "IOX"),
        "onednn/ConvTranspose-1": ("NXC", "XOI"),
        "onednn/ConvolutionBackpropData-1": ("NXC", "XOI"),
        "openvino/ConvolutionBackpropData-1": ("NCX", "IOX"),
        "openvino/GroupConvolutionBackpropData-1": ("NCX", "GIOX"),
        "geometry/1": ("NCX", "IOX"),
    }


# The table of rules, one answer each.

_RECOMPUTED = (Sized.RECOMPUTED, Sized.RECOMPUTED)


@pytest.mark.parametrize(
    ("dialects", "rules"),
    [
        (
            (ONNX_11, ONNX_22),
            Rules(
                Same.INPUT_TIMES_STRIDE,
                *_RECOMPUTED,
                *(Odd.END, Odd.BEGIN, Odd.END, Odd.BEGIN, Odd.BEGIN),
                *(Negative.FLOOR, Negative.FLOOR),
            ),
        ),
        (
            (ONNX_1,),
            Rules(
                Same.INPUT_SIZE,
                *_RECOMPUTED,
                *(Odd.END, Odd.BEGIN, Odd.BEGIN, Odd.END, Odd.END),
                *(Negative.FLOOR, Negative.FLOOR),
            ),
        ),
        (
            (ONEDNN,),
            Rules(
                Same.KERNEL_LESS_STRIDE,
                *_RECOMPUTED,
                *(Odd.END, Odd.BEGIN, Odd.END, Odd.BEGIN, Odd.BEGIN),
                *(Negative.TRUNCATE, Negative.TRUNCATE),
            ),
        ),
        (
            BACKPROP,
            Rules(
                Same.NO_PADDING,
                *_RECOMPUTED,
                *(Odd.END, Odd.BEGIN, Odd.BEGIN, Odd.END, Odd.END),
                *(Negative.FLOOR, Negative.FLOOR),
            ),
        ),
    ],
)
def test_primary_answers(dialects: tuple[str, ...], rules: Rules) -> None:
    """The answers of the design's table, from SAME to negative totals, in the order of the questions."""
    for name in dialects:
        assert DIALECTS[name].rules == rules


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
    row = DIALECTS["geometry/1"]
    assert row.disputed == ()
    assert not any(isinstance(answer, Open) for answer in row.constraints.values())
    for name in ("without-auto-pad", "without-output-shape", "without-kernel-shape", "strides-positive"):
        assert isinstance(row.constraints[name], Stated)
    for name in ("pads-non-negative", "output-padding-below-stride-or-dilation", "batch-not-empty", "without-bias"):
        assert isinstance(row.constraints[name], Absent)


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
    text = plain(" ".join([*parts, *(f"{one.name} {one.description}" for one in schema.inputs)]))
    row = DIALECTS[name]
    clauses = [
        *row.cites.values(),
        *(clause for reading in row.disputed for clause in (reading.cites, reading.against)),
        *(answer.clause for answer in row.constraints.values()),
    ]
    quotations = [words for clause in clauses for words in quoted(clause)]
    assert len(quotations) > 20
    assert [words for words in quotations if plain(words) not in text] == []


@ROWS
def test_a_disputed_reading_has_the_sentence_for_it(row: Dialect) -> None:
    """Each disputed reading rests on words in quotes; words against it stand in quotes too."""
    for reading in row.disputed:
        assert quoted(reading.cites)
        assert not reading.against or quoted(reading.against) or "equations" in reading.against


@pytest.mark.parametrize(("name", "version"), [(ONNX_1, 1), (ONNX_11, 11), (ONNX_22, 22)])
def test_onnx_attributes_and_types_are_the_schemas(name: str, version: int) -> None:
    """The spelt attributes are those of the schema, and bfloat16 is allowed where the schema has it."""
    schema = onnx.defs.get_schema("ConvTranspose", version, "")
    row = DIALECTS[name]
    assert set(row.spelling.attributes.values()) == set(schema.attributes)
    assert [row.spelling.inputs[role] for role in ("x", "w", "b")] == [one.name for one in schema.inputs]
    types = schema.type_constraints[0].allowed_type_strs
    assert isinstance(row.constraints["without-bf16"], Stated) == ("tensor(bfloat16)" not in types)
    assert isinstance(row.constraints["without-f64"], Absent) == ("tensor(double)" in types)
    assert not any(attribute.required for attribute in schema.attributes.values())


# Looking up.


def test_a_dialect_is_found_by_its_name() -> None:
    """`dialect_named` returns the dialect that the table has under this name."""
    assert all(dialect_named(name) is row for name, row in DIALECTS.items())


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
