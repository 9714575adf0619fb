"""What a dialect expects: a value, a refusal, or nothing because the case cannot be said."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from strategies import BACKPROP, ONEDNN, ONNX, case
from tconv.cases.case import Operand
from tconv.dialects import DIALECTS
from tconv.dialects.rules import Negative
from tconv.expectation.expected import Expectation, NotApplicable, Refuse, Values, expect
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
    found = expects(dialect, **attributes)
    assert isinstance(found, Values), found
    return found


def texts(expected: Values) -> list[str]:
    """Return why a text may refuse, as records say it."""
    return [str(refusal) for refusal in expected.refusals]


def reason(dialect: str, **attributes: Any) -> str:  # noqa: ANN401 - as above
    found = expects(dialect, **attributes)
    assert isinstance(found, NotApplicable), found
    return found.reason


# Stated, absent, open.


def test_an_output_that_nobody_can_compute_is_not_asked() -> None:
    """ONNX bounds output_padding and expects a refusal; a text without it expects 2^63 elements, and is not asked."""
    large = {"output_padding": (2**63 - 1, 0), "breaks": "output-padding-below-stride-or-dilation"}
    assert isinstance(expects(ONNX_22, **large), Refuse)
    for dialect in (ONNX_1, ONEDNN, OPENVINO, "geometry/1"):
        assert reason(dialect, **large).startswith("output must have at most 16777216 elements, ")


BROKEN: list[tuple[str, dict[str, Any], str]] = [
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
]
ALLOWED: list[tuple[str, dict[str, Any], str]] = [
    (ONEDNN, {"output_padding": (2, 2), "strides": (2, 2)}, "output-padding-below-stride-or-dilation"),
    (ONNX_1, {"output_padding": (2, 2), "strides": (2, 2)}, "output-padding-below-stride-or-dilation"),
    (ONNX_22, {"omit": ("strides",)}, "strides-given"),
    (ONNX_11, {"omit": ("pads_begin",)}, "pads-given"),
    (ONNX_22, {"dtype": DType.BF16}, "type-known"),
    (OPENVINO, {"dtype": DType.F64}, "type-known"),
    ("geometry/1", {"pads_begin": (-2, -1)}, "pads-non-negative"),
]
OPEN: list[tuple[str, dict[str, Any], str]] = [
    (ONNX_1, {"omit": ("strides",)}, "strides-given"),
    (ONNX_11, {"output_padding": (-1, 0)}, "output-padding-non-negative"),
    (OPENVINO, {"omit": ("pads_end",)}, "pads-given"),
    (ONNX_22, {"batch": 0}, "batch-not-empty"),
    (ONEDNN, {"pads_begin": (7, 0)}, "output-not-empty"),
]


@pytest.mark.parametrize(("dialect", "attributes", "constraint"), BROKEN)
def test_a_stated_constraint_that_is_broken_on_purpose_is_a_refusal(
    dialect: str, attributes: dict[str, Any], constraint: str
) -> None:
    """Without `breaks` the case is a mistake there and cannot be said."""
    found = expects(dialect, **attributes, breaks=constraint)
    assert isinstance(found, Refuse)
    assert (found.violation.constraint, found.stated) == (constraint, True)
    assert f"[{constraint}: {DIALECTS[dialect].constraints[constraint].clause}]" in reason(dialect, **attributes)


@pytest.mark.parametrize(
    ("dialect", "attributes", "constraint", "refusals"),
    [*((*row, []) for row in ALLOWED), *((*row, [f"{row[2]}-refused"]) for row in OPEN)],
)
def test_a_constraint_of_another_text_leaves_the_value_and_an_open_one_a_disputed_refusal(
    dialect: str, attributes: dict[str, Any], constraint: str, refusals: list[str]
) -> None:
    assert texts(value(dialect, **attributes, breaks=constraint)) == refusals


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


@pytest.mark.parametrize(
    ("dialects", "attributes", "breaks", "stated"),
    [
        # The equations of all texts may give a size below 0, and no sentence forbids it.
        ((ONNX_1, ONEDNN, OPENVINO), {"pads_begin": (9, 0)}, "output-size-non-negative", False),
        # ONNX gives strides no range, but stride 0 has no sum: the refusal is expected, and it is not the text's.
        (ONNX, {"strides": (0, 1)}, "strides-positive", False),
        ((ONEDNN, *BACKPROP), {"strides": (0, 1)}, "strides-positive", True),
        ((ONEDNN, ONEDNN_BACKPROP), {"data_format": "NCHW"}, "data-format-known", True),
        # What cannot be written cannot be broken.
        ((*ONNX, OPENVINO, GROUPED), {"data_format": "NCHW"}, "data-format-known", None),
        (ONNX, {"filter_format": "OIHW"}, "filter-format-known", None),
        ((GROUPED,), {"groups": 0}, "groups-positive", None),
        ((GROUPED,), {"groups": 3}, "channels-divisible", None),
        ((ONEDNN, OPENVINO), {"kernel_shape": (2, 3)}, "kernel-shape-matches", None),
        (BACKPROP, {"bias": (5,)}, "bias-length", None),
    ],
)
def test_what_has_no_value_is_a_refusal_that_the_text_states_or_not(
    dialects: tuple[str, ...], attributes: dict[str, Any], breaks: str, *, stated: bool | None
) -> None:
    """None: a dialect has no words for it."""
    for dialect in dialects:
        found = expects(dialect, **attributes, breaks=breaks)
        assert isinstance(found, NotApplicable if stated is None else Refuse)
        assert isinstance(found, NotApplicable) or found.stated == stated


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
