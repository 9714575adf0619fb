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
    return replace(PLAIN, attributes=replace(PLAIN.attributes, **changes))


def shapes(x: Ints, w: Ints, b: Ints | None = None, **changes: Any) -> Signature:  # noqa: ANN401 - as above
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


ONE_AXIS_AT_LEAST = {"at-least-one-spatial-axis", "two-spatial-axes", "two-or-three-spatial-axes"}
NO_AXES: dict[str, Any] = {"strides": (), "dilations": (), "pads_begin": (), "pads_end": ()}
BELOW = "output-padding-below-stride-or-dilation"
LEADS_BACK = "output-shape-leads-back"
EDGES: list[tuple[Signature, set[str]]] = [
    # Less than the larger of strides (1, 2) and dilations (2, 1), which are 1 if neither is written.
    (attributes(output_padding=(1, 1)), {"output-padding-below-stride"}),
    (attributes(output_padding=(0, 1)), set()),
    (attributes(output_padding=(1, 0), strides=None), {"output-padding-below-stride", "strides-given"}),
    (attributes(output_padding=(0, 0), strides=None, dilations=None), {"strides-given", "dilations-given"}),
    (
        attributes(output_padding=(0, 1), strides=None, dilations=None),
        {BELOW, "output-padding-below-stride", "strides-given", "dilations-given"},
    ),
    (attributes(output_padding=(5, 5, 5)), {"output-padding-length"}),
    # A size that is asked for decides, and not the padding.
    (attributes(output_padding=(1, 1), output_shape=(9, 8)), set()),
    # Strides 1 and 2, reaches 5 and 2: of 9 x 8 a convolution makes 5 x 4, and a pad is as an element more.
    (attributes(output_shape=(9, 8)), set()),
    (attributes(output_shape=(8, 7), pads_begin=(1, 0), pads_end=(0, 1)), set()),
    (attributes(output_shape=(9, 8), pads_begin=(1, 0)), {LEADS_BACK}),
    (attributes(output_shape=(9, 8), pads_end=(0, 2)), {LEADS_BACK}),
    (attributes(output_shape=(0, 0)), {LEADS_BACK}),
    # Under a mode, pads are not what is padded.
    (attributes(output_shape=(9, 8), pads_begin=(1, 2), auto_pad="valid"), {"pads-without-auto-pad"}),
    (attributes(output_shape=(5, 7), pads_end=(1, 2), auto_pad="same_upper"), {"pads-without-auto-pad"}),
    # A wrong length is another's concern.
    (attributes(output_shape=(9, 8), pads_begin=(1,)), {"pads-length"}),
    # Pads on either side are beside a mode, zeros too.
    (attributes(auto_pad="same_lower", pads_begin=None), {"pads-without-auto-pad", "pads-given"}),
    (attributes(auto_pad="same_lower", pads_end=None), {"pads-without-auto-pad", "pads-given"}),
    # No input channel, no output channel, or neither: nothing else is empty by that.
    (shapes((1, 0, 5, 4), (0, 6, 3, 2)), {"channels-not-empty"}),
    (shapes((1, 4, 5, 4), (4, 0, 3, 2)), {"channels-not-empty"}),
    (shapes((1, 0, 5, 4), (0, 0, 3, 2)), {"channels-not-empty"}),
    # A bias is as long as the outputs of all groups, unless their number is not known.
    (shapes((1, 4, 5, 4), (4, 6, 3, 2), (12,), groups=2), set()),
    (shapes((1, 4, 5, 4), (4, 6, 3, 2), (6,), groups=2), {"bias-length"}),
    (shapes((1, 4, 5, 4), (4, 6, 3, 2), (5,), groups=0), {"groups-positive"}),
    (shapes((1, 4, 5, 4), (4,), (5,)), {"filter-rank-matches"}),
    # Batch and channels alone are divided into groups like any; data without channels are reported once.
    (shapes((1, 4), (4, 6), (5,), **NO_AXES), {"bias-length", *ONE_AXIS_AT_LEAST}),
    (shapes((1, 4), (4, 6), groups=3, **NO_AXES), {"channels-divisible", *ONE_AXIS_AT_LEAST}),
    (shapes((1, 4), (4, 6), groups=4, **NO_AXES), ONE_AXIS_AT_LEAST),
    (
        shapes((), (4, 6), groups=3),
        {"filter-channels-match", "filter-rank-matches", "strides-length", "dilations-length", "pads-length"}
        | ONE_AXIS_AT_LEAST,
    ),
]


@pytest.mark.parametrize(("signature", "constraints"), EDGES)
def test_a_constraint_holds_up_to_its_edge(signature: Signature, constraints: set[str]) -> None:
    assert broken(signature).keys() == constraints


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
