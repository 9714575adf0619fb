"""Every constraint is broken by a minimal example, alone, and whatever is shown is answered."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import WIDE, examples, signatures
from tconv.dialects import DIALECTS, Stated, constraints
from tconv.dialects.constraints import CONSTRAINTS
from tconv.expectation.expected import NotApplicable, Refuse, Values, expect_of_signature
from tconv.vocabulary import Attributes, AutoPad, DataFormat, DType, FilterFormat, Ints, Signature, TensorType

if TYPE_CHECKING:
    from tconv.errors import Violation

PLAIN = Signature(
    Attributes(strides=(1, 2), dilations=(2, 1), pads_begin=(0, 0), pads_end=(0, 0)),
    TensorType((1, 4, 5, 4), DType.F32),
    TensorType((4, 6, 3, 2), DType.F32),
    None,
)
"""Breaks nothing at all, whatever the text."""

ELSEWHERE = ("output-not-empty", "output-size-non-negative", "type-known")
"""Found by the resolver, from the geometry, and by the dialect, which has the types."""


def attributes(**changes: Any) -> Signature:  # noqa: ANN401 - attributes by their names
    """Return the plain signature with some attributes changed."""
    return replace(PLAIN, attributes=replace(PLAIN.attributes, **changes))


def shapes(x: Ints, w: Ints, b: Ints | None = None, **changes: Any) -> Signature:  # noqa: ANN401 - as above
    """Return the plain signature with other shapes."""
    bias = None if b is None else TensorType(b, DType.F32)
    return replace(attributes(**changes), x=TensorType(x, DType.F32), w=TensorType(w, DType.F32), b=bias)


def alone(**changes: Any) -> Signature:  # noqa: ANN401 - as above
    """Return a signature with one spatial axis and the attributes given alone."""
    ones = {"strides": (1,), "dilations": (1,), "pads_begin": (0,), "pads_end": (0,)}
    return Signature(
        Attributes(**(ones | changes)), TensorType((1, 4, 5), DType.F32), TensorType((4, 6, 3), DType.F32), None
    )


Example = tuple[Signature, str, set[str]]

BROKEN: dict[str, Example] = {
    # The signature, the attribute that is named, and constraints that cannot but be broken with it.
    "strides-length": (attributes(strides=(2,)), "strides", set()),
    "dilations-length": (attributes(dilations=(2, 2, 2)), "dilations", set()),
    "pads-length": (attributes(pads_end=(0, 0, 0)), "pads_end", set()),
    "output-padding-length": (attributes(output_padding=()), "output_padding", set()),
    "output-shape-length": (attributes(output_shape=(1, 6, 9, 8)), "output_shape", set()),
    "kernel-shape-length": (attributes(kernel_shape=(3,)), "kernel_shape", set()),
    "strides-positive": (attributes(strides=(1, 0)), "strides", set()),
    "dilations-positive": (attributes(dilations=(-1, 1)), "dilations", set()),
    "pads-non-negative": (attributes(pads_begin=(0, -1)), "pads_begin", set()),
    "output-shape-leads-back": (attributes(output_shape=(11, 8)), "output_shape", set()),
    "output-padding-non-negative": (attributes(output_padding=(0, -1)), "output_padding", set()),
    "output-shape-non-negative": (attributes(output_shape=(-1, 8)), "output_shape", {"output-shape-leads-back"}),
    "groups-positive": (attributes(groups=0), "groups", set()),
    "output-padding-below-stride-or-dilation": (
        attributes(output_padding=(0, 2)),
        "output_padding",
        {"output-padding-below-stride"},
    ),
    "output-padding-below-stride": (attributes(output_padding=(1, 0)), "output_padding", set()),
    "pads-without-auto-pad": (attributes(auto_pad="valid"), "pads", set()),
    "kernel-shape-matches": (attributes(kernel_shape=(2, 3)), "kernel_shape", set()),
    "channels-divisible": (attributes(groups=3), "groups", set()),
    "filter-channels-match": (shapes((1, 4, 5, 4), (3, 6, 3, 2)), "filter", set()),
    "filter-rank-matches": (shapes((1, 4, 5, 4), (4, 6, 3)), "filter", set()),
    "bias-rank": (shapes((1, 4, 5, 4), (4, 6, 3, 2), (1, 6)), "bias", set()),
    "bias-length": (shapes((1, 4, 5, 4), (4, 6, 3, 2), (4,)), "bias", set()),
    "one-type": (replace(PLAIN, w=TensorType((4, 6, 3, 2), DType.F16)), "filter", set()),
    "auto-pad-known": (
        attributes(auto_pad="SAME", pads_begin=None, pads_end=None),
        "auto_pad",
        {"pads-given"},
    ),
    "data-format-known": (attributes(data_format="NCHW"), "data_format", set()),
    "filter-format-known": (attributes(filter_format="OIHW"), "filter_format", set()),
    "strides-given": (attributes(strides=None), "strides", set()),
    "dilations-given": (attributes(dilations=None), "dilations", set()),
    "pads-given": (attributes(pads_end=None), "pads_end", set()),
    "at-least-one-spatial-axis": (
        shapes((1, 4), (4, 6), strides=(), dilations=(), pads_begin=(), pads_end=()),
        "data",
        {"two-spatial-axes", "two-or-three-spatial-axes"},
    ),
    "two-spatial-axes": (
        shapes((1, 4, 5, 4, 3), (4, 6, 3, 2, 1), strides=None, dilations=None, pads_begin=None, pads_end=None),
        "data",
        {"strides-given", "dilations-given", "pads-given"},
    ),
    "two-or-three-spatial-axes": (alone(), "data", {"two-spatial-axes"}),
    "at-most-three-spatial-axes": (
        shapes((1, 4, *[3] * 4), (4, 6, *[2] * 4), strides=None, dilations=None, pads_begin=None, pads_end=None),
        "data",
        {"two-spatial-axes", "two-or-three-spatial-axes", "strides-given", "dilations-given", "pads-given"},
    ),
    "batch-not-empty": (shapes((0, 4, 5, 4), (4, 6, 3, 2)), "data", set()),
    "channels-not-empty": (shapes((1, 0, 5, 4), (0, 6, 3, 2)), "data", set()),
    "spatial-not-empty": (shapes((1, 4, 5, 0), (4, 6, 3, 2)), "data", set()),
    "kernel-not-empty": (shapes((1, 4, 5, 4), (4, 6, 0, 2)), "filter", set()),
}  # fmt: skip


def broken(signature: Signature) -> dict[str, Violation]:
    """Return every constraint that a signature breaks."""
    return {violation.constraint: violation for violation in constraints.find_broken(signature)}


def test_every_constraint_has_an_example() -> None:
    assert BROKEN.keys() | set(ELSEWHERE) == CONSTRAINTS.keys()


def test_which_constraints_the_operator_cannot_do_without() -> None:
    """Where one of these is broken there is no value at all; any other leaves one that a text may or may not allow."""
    lists = ("strides", "dilations", "pads", "output-padding", "output-shape", "kernel-shape")
    assert {name for name, constraint in CONSTRAINTS.items() if constraint.needed} == {
        *(f"{name}-length" for name in lists),
        "kernel-shape-matches",
        "strides-positive",
        "dilations-positive",
        "output-shape-non-negative",
        "groups-positive",
        "channels-divisible",
        "filter-channels-match",
        "filter-rank-matches",
        "bias-rank",
        "bias-length",
        "auto-pad-known",
        "data-format-known",
        "filter-format-known",
        "output-size-non-negative",
    }


def test_the_plain_signature_breaks_nothing() -> None:
    assert broken(PLAIN) == {}
    assert [name for name in WIDE if not isinstance(expect_of_signature(PLAIN, DIALECTS[name]), Values)] == []


@pytest.mark.parametrize("name", BROKEN)
def test_an_example_breaks_its_constraint_alone(name: str) -> None:
    signature, attribute, implied = BROKEN[name]
    found = broken(signature)
    assert found.keys() == {name} | implied
    assert found[name].attribute == attribute


@pytest.mark.parametrize("dialect", WIDE)
@pytest.mark.parametrize(
    ("name", "pads"), [("output-not-empty", ((7, 0), (0, 0))), ("output-size-non-negative", ((7, 0), (2, 0)))]
)
def test_sizes_of_the_output_are_the_resolvers(dialect: str, name: str, pads: tuple[Ints, Ints]) -> None:
    """An output of 0 or less is found when the geometry is: empty is a value, below 0 is none. 5+4 = 9 are reached."""
    begin, end = pads
    signature = attributes(pads_begin=(begin[0] + 2, 0), pads_end=end)
    assert broken(signature) == {}
    expected = expect_of_signature(signature, DIALECTS[dialect], name)
    if name == "output-not-empty":
        assert isinstance(expected, Values)
        assert expected.primary.geometry.output == (0, 8)
        assert expected.open_constraints == ([] if dialect == "geometry/1" else ["output-not-empty"])
    else:
        assert isinstance(expected, Refuse)
        assert (expected.violation.constraint, expected.violation.got) == (name, "-2")
        assert isinstance(expect_of_signature(signature, DIALECTS[dialect]), NotApplicable)


def test_a_text_may_forbid_an_empty_output() -> None:
    """A refusal is expected of the case that breaks it on purpose; no other such case is applicable."""
    row = DIALECTS["onnx/ConvTranspose-22"]
    stated = replace(row, constraints={**row.constraints, "output-not-empty": Stated("'no size is 0'")})
    signature = attributes(pads_begin=(9, 0))
    expected = expect_of_signature(signature, stated, "output-not-empty")
    assert isinstance(expected, Refuse)
    assert (expected.violation.constraint, expected.violation.clause) == ("output-not-empty", "'no size is 0'")
    assert isinstance(expect_of_signature(signature, stated), NotApplicable)


# Each predicate at its edges.


@pytest.mark.parametrize(
    "signature",
    [
        attributes(output_padding=(1, 1)),
        attributes(output_padding=(0, 1)),
        attributes(output_padding=(1, 0), strides=None),
        attributes(output_padding=(0, 0), strides=None, dilations=None),
        attributes(output_padding=(5, 5, 5)),
    ],
)
def test_output_padding_below_the_larger(signature: Signature) -> None:
    """Less than the larger of strides (1, 2) and dilations (2, 1) holds; a wrong length is another's concern."""
    assert "output-padding-below-stride-or-dilation" not in broken(signature)


def test_output_padding_is_bounded_by_defaults_too() -> None:
    """Where neither strides nor dilations are written both are 1, so output_padding 1 is not less."""
    found = broken(attributes(output_padding=(0, 1), strides=None, dilations=None))
    assert found["output-padding-below-stride-or-dilation"].must == (
        "must be less than the larger of strides and dilations [1, 1]"
    )


def test_output_padding_is_below_the_stride_only_if_it_decides_the_size() -> None:
    added = attributes(output_padding=(1, 1))
    assert broken(added)["output-padding-below-stride"].must == "must be less than strides [1, 2]"
    assert broken(attributes(output_padding=(1, 1), output_shape=(9, 8))) == {}
    assert broken(attributes(output_padding=(0, 1))) == {}


@pytest.mark.parametrize(
    ("changes", "held"),
    [
        # Strides 1 and 2, reaches 5 and 2: of 9 x 8 a convolution makes 5 x 4, and a pad is as an element more.
        ({"output_shape": (9, 8)}, True),
        ({"output_shape": (8, 7), "pads_begin": (1, 0), "pads_end": (0, 1)}, True),
        ({"output_shape": (9, 8), "pads_begin": (1, 0)}, False),
        ({"output_shape": (9, 8), "pads_end": (0, 2)}, False),
        # Under a mode, pads are not what is padded.
        ({"output_shape": (9, 8), "pads_begin": (1, 2), "auto_pad": "valid"}, True),
        ({"output_shape": (5, 7), "pads_end": (1, 2), "auto_pad": "same_upper"}, True),
        # A wrong length is another's concern.
        ({"output_shape": (9, 8), "pads_begin": (1,)}, True),
    ],
)
def test_a_size_leads_back_with_the_pads(changes: dict[str, Any], held: bool) -> None:  # noqa: FBT001 - a parameter
    """A convolution that pads as the call crops makes the data's sizes of the size that is asked for."""
    assert ("output-shape-leads-back" not in broken(attributes(**changes))) == held


@pytest.mark.parametrize("pads", [{"pads_begin": None}, {"pads_end": None}])
def test_one_side_of_pads_is_enough_to_be_beside_a_mode(pads: dict[str, None]) -> None:
    """Pads on either side count as written, zeros too; ONNX has one attribute for both."""
    found = broken(attributes(auto_pad="same_lower", **pads))
    assert found["pads-without-auto-pad"].must == "must not be written together with auto_pad same_lower"


def test_zero_is_not_negative() -> None:
    """Pads, output_padding and output_shape may be 0, on any axis."""
    assert broken(attributes(output_padding=(0, 0))) == {}
    assert broken(attributes(output_shape=(0, 0))).keys() == {"output-shape-leads-back"}


@pytest.mark.parametrize(
    ("x", "w"), [((1, 0, 5, 4), (0, 6, 3, 2)), ((1, 4, 5, 4), (4, 0, 3, 2)), ((1, 0, 5, 4), (0, 0, 3, 2))]
)
def test_channels_of_either_side_may_be_missing(x: Ints, w: Ints) -> None:
    """No input channel, no output channel, or neither: nothing else is empty by that."""
    assert broken(shapes(x, w)).keys() == {"channels-not-empty"}


def test_a_bias_without_a_number_of_channels_to_compare_with() -> None:
    """Where groups or the filter's rank are broken the bias is not told as well."""
    assert "bias-length" not in broken(shapes((1, 4, 5, 4), (4, 6, 3, 2), (5,), groups=0))
    assert "bias-length" not in broken(shapes((1, 4, 5, 4), (4,), (5,)))
    assert "bias-length" in broken(shapes((1, 4), (4, 6), (5,), strides=(), dilations=(), pads_begin=(), pads_end=()))


def test_channels_of_a_group() -> None:
    """Four channels go into two groups and four, not into three; the bias is as long as all groups' outputs."""
    assert "channels-divisible" not in broken(attributes(groups=2))
    assert "bias-length" not in broken(shapes((1, 4, 5, 4), (4, 6, 3, 2), (12,), groups=2))
    assert broken(shapes((1, 4, 5, 4), (4, 6, 3, 2), (6,), groups=2))["bias-length"].must == (
        "must have 12 entries, one for each output channel"
    )


def test_channels_without_a_spatial_axis() -> None:
    """Batch and channels alone are divided into groups like any; data without channels are not told of twice."""
    assert broken(shapes((1, 4), (4, 6), groups=3))["channels-divisible"].must == "must divide the 4 input channels"
    assert "channels-divisible" not in broken(shapes((1, 4), (4, 6), groups=4))
    without = broken(shapes((), (4, 6), groups=3))
    assert "channels-divisible" not in without
    assert (without["filter-channels-match"].attribute, without["filter-channels-match"].got) == ("data", "rank 0")


# Whatever comes.

_INTS = st.lists(st.integers(-3, 6), max_size=5).map(tuple)
_SIZES = st.lists(st.integers(0, 5), max_size=6).map(tuple)
_WORDS = st.sampled_from(["", "SAME", "NCHW", *AutoPad, *DataFormat, *FilterFormat])
_TENSORS = st.builds(TensorType, _SIZES, st.sampled_from(DType))
_LISTS = ("strides", "dilations", "pads_begin", "pads_end", "output_padding", "output_shape", "kernel_shape")
_ANY = st.builds(
    Signature,
    st.builds(
        Attributes,
        **{name: st.none() | _INTS for name in _LISTS},
        **{name: st.none() | _WORDS for name in ("auto_pad", "data_format", "filter_format")},
        groups=st.none() | st.integers(-2, 5),
    ),
    _TENSORS,
    _TENSORS,
    st.none() | _TENSORS,
)


@given(_ANY)
@examples(600)
def test_whatever_is_shown_is_answered(signature: Signature) -> None:
    """Odd lengths, zeros, negatives, unknown words, tensors of any rank: there is an answer, and nothing is raised."""
    for violation in broken(signature).values():
        assert violation.attribute
        assert violation.must.startswith("must ")
        assert violation.got or signature.attributes.given().get(violation.attribute) == ""


@given(_ANY)
@examples(600)
def test_only_those_of_presentation_ask_for_types_and_layouts(signature: Signature) -> None:
    without = replace(signature.attributes, data_format=None, filter_format=None)
    x, w, b = (tensor and replace(tensor, dtype=DType.F32) for tensor in (signature.x, signature.w, signature.b))
    found, other = broken(signature), broken(Signature(without, x, w, b))
    assert found.keys() - {"one-type", "data-format-known", "filter-format-known"} == other.keys()
    assert all(found[name] == violation for name, violation in other.items())


def test_every_dialect_has_an_expectation_of_everything() -> None:
    seen = set()

    @given(_ANY | signatures(0), st.sampled_from(sorted(DIALECTS)), st.booleans())
    # A fifth of them would leave one kind out, once in twenty times.
    @settings(max_examples=600)
    def hold(signature: Signature, dialect: str, on_purpose: bool) -> None:  # noqa: FBT001 - drawn
        expected = expect_of_signature(signature, DIALECTS[dialect])
        if on_purpose and isinstance(expected, NotApplicable):
            breaks = expected.violation.constraint
            expected = expect_of_signature(signature, DIALECTS[dialect], breaks)
            assert not isinstance(expected, Refuse) or expected.violation.constraint == breaks
        if isinstance(expected, NotApplicable):
            name = expected.violation.constraint
            stated = isinstance(DIALECTS[dialect].constraints.get(name), Stated)
            assert stated or name not in CONSTRAINTS or CONSTRAINTS[name].needed
        elif isinstance(expected, Values):
            assert len(expected.primary.geometry.output) == signature.rank
            assert min(expected.primary.geometry.output, default=0) >= 0
        seen.add(type(expected))

    hold()
    assert seen == {Values, Refuse, NotApplicable}
