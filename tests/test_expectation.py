"""What a dialect expects: a value, a refusal, or nothing because the case cannot be said."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from strategies import BACKPROP, ONEDNN, ONNX, case
from tconv import resolve
from tconv.cases.call import write_signature
from tconv.cases.case import Operand
from tconv.dialects import DIALECTS
from tconv.dialects.rules import Negative, Same
from tconv.expectation.expected import Expectation, NotApplicable, Refuse, Values, expect, expect_of_signature
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from tconv.dialects import Dialect
    from tconv.vocabulary import Ints

ONNX_1, ONNX_11, ONNX_22 = ONNX
ONEDNN_BACKPROP, OPENVINO, GROUPED = BACKPROP


def expects(dialect: str, **attributes: Any) -> Expectation:  # noqa: ANN401 - attributes and fields by their names
    """Return what a dialect expects to a case with 4 channels and 6 filters on a plane of 5x7 with a 3x2 kernel."""
    return expect(case((5, 7), (3, 2), channels=4, filters=6, **attributes), DIALECTS[dialect])


def value(dialect: str, **attributes: Any) -> Values:  # noqa: ANN401 - as above
    """Return the values that a dialect expects."""
    found = expects(dialect, **attributes)
    assert isinstance(found, Values), found
    return found


def texts(expected: Values) -> list[str]:
    """Return why a text may refuse, as records say it."""
    return [str(refusal) for refusal in expected.refusals]


def reason(dialect: str, **attributes: Any) -> str:  # noqa: ANN401 - as above
    """Return why a case cannot be said in a dialect."""
    found = expects(dialect, **attributes)
    assert isinstance(found, NotApplicable), found
    return found.reason


# A plain case.


# Stated, absent, open.


def test_an_output_that_nobody_can_compute_is_not_asked() -> None:
    """ONNX bounds output_padding and expects a refusal; a text without it expects 2^63 elements, and is not asked."""
    large = {"output_padding": (2**63 - 1, 0), "breaks": "output-padding-below-stride-or-dilation"}
    assert isinstance(expects(ONNX_22, **large), Refuse)
    for dialect in (ONNX_1, ONEDNN, OPENVINO, "geometry/1"):
        assert reason(dialect, **large).startswith("output must have at most 16777216 elements, ")


def test_open_without_an_output_owes_an_open_refusal() -> None:
    """The equations of all texts may give a size below 0, and no sentence forbids it."""
    for dialect in (ONNX_1, ONEDNN, OPENVINO):
        found = expects(dialect, pads_begin=(9, 0), breaks="output-size-non-negative")
        assert isinstance(found, Refuse)
        assert not found.stated


def test_open_without_a_value_owes_an_open_refusal() -> None:
    """ONNX gives strides no range, but stride 0 has no sum: the refusal is expected, and it is not the text's."""
    for dialect in ONNX:
        found = expects(dialect, strides=(0, 1), breaks="strides-positive")
        assert isinstance(found, Refuse)
        assert not found.stated
    stated = expects(ONEDNN, strides=(0, 1), breaks="strides-positive")
    assert isinstance(stated, Refuse)
    assert stated.stated


@pytest.mark.parametrize(
    ("dialect", "attributes", "name"),
    [
        (ONNX_11, {"output_padding": (2, 2), "strides": (2, 2)}, "output-padding-below-stride-or-dilation"),
        (ONNX_22, {"pads_begin": (-1, 0)}, "pads-non-negative"),
        (ONEDNN, {"groups": 3}, "channels-divisible"),
        (ONEDNN, {"omit": ("strides",)}, "strides-given"),
        (ONEDNN, {"omit": ("pads_begin", "pads_end")}, "pads-given"),
        (ONEDNN, {"auto_pad": "SAME"}, "auto-pad-known"),
        (ONEDNN, {"output_padding": (-1, 0)}, "output-padding-non-negative"),
        (OPENVINO, {"omit": ("dilations",)}, "dilations-given"),
        (OPENVINO, {"output_shape": (4,)}, "output-shape-length"),
        (ONEDNN_BACKPROP, {"dilations": (0, 1)}, "dilations-positive"),
        ("geometry/1", {"bias": (5,)}, "bias-length"),
    ],
)
def test_each_stated_constraint_owes_a_refusal_when_broken(dialect: str, attributes: dict[str, Any], name: str) -> None:
    """With `breaks` the refusal is expected; without it the case is a mistake there and cannot be said."""
    found = expects(dialect, **attributes, breaks=name)
    assert isinstance(found, Refuse)
    assert found.violation.constraint == name
    assert f"[{name}: {DIALECTS[dialect].constraints[name].clause}]" in reason(dialect, **attributes)


@pytest.mark.parametrize(
    ("dialect", "attributes", "breaks"),
    [
        (ONEDNN, {"output_padding": (2, 2), "strides": (2, 2)}, "output-padding-below-stride-or-dilation"),
        (ONNX_1, {"output_padding": (2, 2), "strides": (2, 2)}, "output-padding-below-stride-or-dilation"),
        (ONNX_22, {"omit": ("strides",)}, "strides-given"),
        (ONNX_11, {"omit": ("pads_begin",)}, "pads-given"),
        (ONNX_22, {"dtype": DType.BF16}, "type-known"),
        (OPENVINO, {"dtype": DType.F64}, "type-known"),
        ("geometry/1", {"pads_begin": (-2, -1)}, "pads-non-negative"),
    ],
)
def test_what_a_text_allows_owes_its_value(dialect: str, attributes: dict[str, Any], breaks: str) -> None:
    """A constraint of another text broken where this text allows it: the value, and no refusal."""
    assert value(dialect, **attributes, breaks=breaks).refusals == ()


@pytest.mark.parametrize(
    ("dialect", "attributes", "refusal"),
    [
        (ONNX_1, {"omit": ("strides",)}, "strides-given-refused"),
        (ONNX_11, {"output_padding": (-1, 0)}, "output-padding-non-negative-refused"),
        (OPENVINO, {"omit": ("pads_end",)}, "pads-given-refused"),
        (ONNX_22, {"batch": 0}, "batch-not-empty-refused"),
        (ONEDNN, {"pads_begin": (7, 0)}, "output-not-empty-refused"),
    ],
)
def test_what_is_open_is_a_disputed_refusal(dialect: str, attributes: dict[str, Any], refusal: str) -> None:
    assert texts(value(dialect, **attributes)) == [refusal]


# NotApplicable.


@pytest.mark.parametrize(
    ("dialect", "attributes", "constraint"),
    [
        (ONEDNN, {"output_shape": (9, 8)}, "without-output-shape"),
        (ONEDNN, {"kernel_shape": (3, 2)}, "without-kernel-shape"),
        (ONEDNN, {"dtype": DType.F64}, "type-known"),
        (ONNX_11, {"dtype": DType.BF16}, "type-known"),
        (ONNX_1, {"dtype": DType.BF16}, "type-known"),
        (OPENVINO, {"groups": 2}, "without-groups"),
        (OPENVINO, {"bias": (6,)}, "without-bias"),
        (GROUPED, {"bias": (6,)}, "without-bias"),
        (ONEDNN_BACKPROP, {"bias": (6,)}, "without-bias"),
        ("geometry/1", {"auto_pad": "same_upper"}, "without-auto-pad"),
        ("geometry/1", {"output_shape": (9, 8)}, "without-output-shape"),
        (ONNX_22, {"pads_begin": (-1, 0)}, "pads-non-negative"),
    ],
)
def test_what_a_dialect_has_no_words_for(dialect: str, attributes: dict[str, Any], constraint: str) -> None:
    """An attribute, input, type or number that a text does not have cannot be said there; the reason names it."""
    told = reason(dialect, **attributes)
    assert f"[{constraint}: " in told
    assert " must " in told
    assert "(got " in told


def test_another_broken_constraint_is_not_the_one_broken_on_purpose() -> None:
    two = {"strides": (2,), "bias": (5,)}
    assert "[bias-length: " in reason(ONNX_11, **two, breaks="strides-length")
    assert "[strides-length: " in reason(ONNX_11, **two, breaks="bias-length")
    assert "the inputs list no bias]" in reason(OPENVINO, bias=(5,), breaks="bias-length")


def test_required_attributes_are_written_so_that_a_plain_case_is_valid() -> None:
    """Only omitting breaks what is required: a case that mentions nothing is valid in every dialect."""
    for dialect in DIALECTS:
        assert value(dialect).primary.geometry.output == (7, 8)


def test_a_layout_that_the_attribute_does_not_have_cannot_be_said() -> None:
    """oneDNN, 'XOI or IOX', 'XIO or OIX': a grouped filter has no word there, but operators without one take it."""
    for dialect in (ONEDNN, ONEDNN_BACKPROP):
        told = reason(dialect, filter_format="GIOX", groups=2)
        assert told.startswith("filter_format must be one of IOX, XOI (got GIOX) [filter-format-known: ")
    for dialect in (*ONNX, GROUPED, "geometry/1"):
        assert isinstance(expects(dialect, filter_format="GIOX", groups=2), Values)


@pytest.mark.parametrize(
    ("dialects", "attributes", "breaks"),
    [
        (ONNX, {"data_format": "NCHW"}, "data-format-known"),
        (ONNX, {"filter_format": "OIHW"}, "filter-format-known"),
        ((OPENVINO, GROUPED), {"data_format": "NCHW"}, "data-format-known"),
        ((GROUPED,), {"groups": 0}, "groups-positive"),
        ((GROUPED,), {"groups": 3}, "channels-divisible"),
        ((ONEDNN, OPENVINO), {"kernel_shape": (2, 3)}, "kernel-shape-matches"),
        (BACKPROP, {"bias": (5,)}, "bias-length"),
    ],
)
def test_what_cannot_be_written_cannot_be_broken(
    dialects: tuple[str, ...], attributes: dict[str, Any], breaks: str
) -> None:
    for dialect in dialects:
        told = reason(dialect, **attributes, breaks=breaks)
        assert f"[{breaks}: " in told or f"[without-{next(iter(attributes)).replace('_', '-')}: " in told
    for dialect in (ONEDNN, ONEDNN_BACKPROP):
        assert isinstance(expects(dialect, data_format="NCHW", breaks="data-format-known"), Refuse)


def test_output_shape_is_fed_where_it_is_an_input() -> None:
    """Where it is an attribute a case that feeds it cannot be said; where none is given, nothing is fed."""
    fed = {"output_shape": (6, 7), "output_shape_source": "input"}
    for dialect in (OPENVINO, ONEDNN_BACKPROP):
        assert isinstance(expects(dialect, **fed), Values)
    refused = expects(ONNX_11, **fed)
    assert isinstance(refused, NotApplicable)
    assert "output_shape is an attribute" in refused.reason
    assert isinstance(expects(ONNX_11, output_shape_source="input"), Values)


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_a_bias_is_left_out_by_an_empty_name_in_onnx_alone(dialect: Dialect) -> None:
    """No other text has names for what is not there; and a bias that is there has a name."""
    without = case((5, 7), (3, 2), channels=4, filters=6, bias_source="unnamed")
    assert isinstance(expect(without, dialect), Values) == (dialect.name in ONNX)
    assert isinstance(expect(replace(without, b=Operand((6,), DType.F32)), dialect), NotApplicable)


def test_operands_are_part_of_validity() -> None:
    unfit = case((5, 7), (3, 2), channels=4, filters=6, breaks="filter-channels-match")
    other = Operand((3, 6, 3, 2), DType.F32)
    for dialect in DIALECTS.values():
        found = expect(replace(unfit, w=other), dialect)
        assert isinstance(found, Refuse)
        assert found.violation.attribute == "filter"


@pytest.mark.parametrize(
    ("dialect", "x", "w", "breaks", "formats", "sayable"),
    [
        # A filter of one axis has no XOI and no GIOX; one of two axes has.
        (ONNX_22, (1, 4, 5, 7), (4,), "filter-rank-matches", {}, True),
        (ONNX_22, (1, 4, 5, 7), (4,), "filter-rank-matches", {"filter_format": "XOI"}, False),
        (ONEDNN, (1, 4, 5, 7), (4,), "filter-rank-matches", {}, False),
        (ONEDNN, (1, 4, 5, 7), (4,), "filter-rank-matches", {"filter_format": "IOX"}, True),
        (ONEDNN, (1, 4, 5, 7), (4, 6), "filter-rank-matches", {}, True),
        (GROUPED, (1, 4, 5, 7), (4,), "filter-rank-matches", {}, False),
        (GROUPED, (1, 4, 5, 7), (4, 6), "filter-rank-matches", {}, True),
        (GROUPED, (1, 4, 5, 7), (4,), "filter-rank-matches", {"filter_format": "IOX"}, True),
        # A grouped filter is divided into its groups, or it is none.
        (GROUPED, (1, 4, 5, 7), (3, 6, 3, 2), "filter-channels-match", {"groups": 2}, False),
        (GROUPED, (1, 4, 5, 7), (6, 6, 3, 2), "filter-channels-match", {"groups": 2}, True),
        (ONNX_22, (1, 4, 5, 7), (3, 6, 3, 2), "filter-channels-match", {"groups": 2}, True),
        (ONNX_22, (1, 4, 5, 7), (3, 6, 3, 2), "filter-channels-match", {"groups": 2, "filter_format": "GIOX"}, False),
        # Data without channels has no NXC.
        (ONNX_22, (), (), "filter-channels-match", {}, True),
        (ONNX_22, (), (), "filter-channels-match", {"data_format": "NXC"}, False),
        (ONEDNN, (1, 4), (3, 4), "filter-channels-match", {}, True),
    ],
)
def test_operands_that_have_no_such_layout_cannot_be_said(
    dialect: str, x: Ints, w: Ints, breaks: str, formats: dict[str, Any], *, sayable: bool
) -> None:
    """A refusal is expected to operands that can be laid out as the call says; others cannot be handed over at all."""
    plain = case((5, 7), (3, 2), breaks=breaks, **formats)
    unfit = replace(plain, x=Operand(x, DType.F32), w=Operand(w, DType.F32))
    found = expect(unfit, DIALECTS[dialect])
    assert isinstance(found, Refuse if sayable else NotApplicable)
    assert found.violation.constraint == breaks


# Readings.


def test_where_a_rule_of_the_text_refuses_a_case_is_not_applicable() -> None:
    """No text's first answer is a refusal yet; one that is has no constraint, and breaks nothing on purpose."""
    text = DIALECTS["onnx/ConvTranspose-22"]
    refusing = replace(text, answers={**text.answers, "negative_sized": Negative.REFUSE.by("its own")})
    found = expect(case((3,), (1,), output_shape=(10,)), refusing)
    assert isinstance(found, NotApplicable)
    assert found.violation.constraint == "total-padding-non-negative"


def test_disputed_outputs_are_named() -> None:
    """OpenVINO, SAME_UPPER with output_shape: the formula's side is primary, the prose's is disputed by name."""
    found = value(OPENVINO, auto_pad="same_upper", output_shape=(6, 8))
    assert found.primary.geometry.pads_begin == (1, 0)
    assert [(candidate.readings, candidate.geometry.pads_begin) for candidate in found.disputed] == [
        (("sized-upper-odd-end",), (0, 0))
    ]


def test_refusing_readings_are_told_apart_from_outputs() -> None:
    """ONNX, a stride beyond the kernel: other places of the same output, a smaller one, and a refusal."""
    found = value(ONNX_11, auto_pad="same_upper", strides=(3, 4))
    # Reaches 15 and 26 of 15 and 28: a total of -2 on the second axis.
    assert found.primary.geometry.pads_begin == (0, -1)
    assert {candidate.readings[0]: candidate.geometry.output for candidate in found.disputed} == {
        "negative-same-appended": (15, 28),
        "negative-same-shrunk": (15, 26),
    }
    assert texts(found) == ["negative-same-refused"]


def test_refusals_of_constraints_come_before_those_of_readings() -> None:
    found = value(ONNX_11, auto_pad="same_upper", strides=(3, 3), dilations=(1, 4), output_padding=(0, -1), batch=0)
    assert texts(found)[:2] == ["output-padding-non-negative-refused", "batch-not-empty-refused"]
    narrow = value(ONNX_11, auto_pad="same_upper", strides=(4, 4), batch=0)
    assert texts(narrow) == ["batch-not-empty-refused", "negative-same-refused"]


def test_a_refusing_product_names_all_its_readings() -> None:
    found = value(ONNX_11, auto_pad="same_upper", strides=(3, 3), dilations=(1, 1), output_padding=(0, 1))
    # Reaches 15 of 15 and 20 + 1 of 21: only with the padding added is it 20 of 21 + 1.
    assert texts(found) == ["same-output-padding-added + negative-same-refused"]


def test_violations_list_what_does_not_hold() -> None:
    written = case((5,), (3,), batch=0, channels=4, filters=6, output_padding=(3,), auto_pad="valid", pads_begin=(1,))
    dialect = DIALECTS[ONNX_11]
    written_out = write_signature(written, dialect)
    assert {violation.constraint for violation in dialect.violations(written_out)} == {
        "output-padding-below-stride-or-dilation",
        "pads-without-auto-pad",
        "batch-not-empty",
    }
    assert isinstance(expect_of_signature(written_out, DIALECTS[ONNX_11]), NotApplicable)


# A dialect is a value.


def test_a_dialect_of_ones_own_is_followed() -> None:
    known = DIALECTS[ONNX_11]
    own = replace(known, answers={**known.answers, "same": Same.NO_PADDING.by("its own")}, disputed=())
    asked = case((3,), (3,), strides=(2,), auto_pad="same_upper")
    sizes = []
    for dialect in (known, own, known):
        owed_values = expect(asked, dialect)
        assert isinstance(owed_values, Values)
        sizes.append(owed_values.primary.geometry.output)
    assert sizes == [(6,), (7,), (6,)]
    assert resolve(spatial=(3,), kernel=(3,), strides=2, auto_pad="same_upper", dialect=own).output == (7,)
