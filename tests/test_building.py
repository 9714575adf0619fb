"""One case from its settings: sizes by meaning, entries per axis, overrides, facts, and what can be no case."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from strategies import examples
from tconv.backends import onnx_model
from tconv.cases.call import arrange_operands, express, write_signature
from tconv.cases.operands import make_operands
from tconv.corpus.building import ImpossibleCase, build
from tconv.corpus.case_file import Settings, merge_settings
from tconv.dialects import DIALECTS
from tconv.dialects.constraints import CONSTRAINTS
from tconv.expectation.expected import NotApplicable, Values, expect
from tconv.reports import case_details
from tconv.vocabulary import ATTRIBUTES, DType

if TYPE_CHECKING:
    from tconv.cases.case import Case


def built(**settings: Any) -> Case:  # noqa: ANN401 - settings by their names
    return build("topic/file/name", Settings.model_validate(settings).written())


def refused(**settings: Any) -> str:  # noqa: ANN401 - as above
    with pytest.raises(ImpossibleCase) as error:
        built(**settings)
    return str(error.value)


# Sizes.


@pytest.mark.parametrize("name", ["strides", "dilations", "pads_begin", "pads_end", "output_padding"])
def test_a_scalar_is_meant_for_every_axis(name: str) -> None:
    plain = {"spatial": [5, 4, 3], "kernel": [1, 1, 1]}
    assert getattr(built(**plain, **{name: 1}).attributes, name) == (1, 1, 1)
    assert getattr(built(**plain, **{name: [2, 1, 3]}).attributes, name) == (2, 1, 3)
    assert getattr(built(**plain, **{name: [2, 1]}, breaks="strides-length").attributes, name) == (2, 1)


def test_a_kernel_may_be_one_number() -> None:
    assert built(spatial=[5, 4], kernel=2).w.shape == (1, 1, 2, 2)


def test_kernel_shape_is_the_filters_or_its_own() -> None:
    plain: dict[str, Any] = {"spatial": [5, 4], "kernel": [3, 2]}
    assert built(**plain, kernel_shape="kernel").attributes.kernel_shape == (3, 2)
    assert built(**plain, kernel_shape=[2, 2], breaks="kernel-shape-matches").attributes.kernel_shape == (2, 2)


@pytest.mark.parametrize(
    ("settings", "sizes"),
    [
        ({"output_shape": "full"}, (11, 16)),
        ({"output_shape": "full+2"}, (13, 18)),
        ({"output_shape": "full-3"}, (8, 13)),
        ({"output_shape": ["full-1", "full+1"]}, (10, 17)),
        ({"output_shape": ["full", 7]}, (11, 7)),
        ({"output_shape": 9}, (9, 9)),
    ],
)
def test_full_counts_from_what_the_taps_reach(settings: dict[str, Any], sizes: tuple[int, ...]) -> None:
    plain = {"spatial": [4, 5], "kernel": [3, 2], "strides": [2, 3], "dilations": [2, 3], "pads_begin": 1}
    assert built(**plain, **settings).attributes.output_shape == sizes


def test_full_without_strides_counts_by_one() -> None:
    assert built(spatial=[4], kernel=[3], output_shape="full").attributes.output_shape == (6,)
    left = built(spatial=[4], kernel=[3], strides=2, omit=["strides"], output_shape="full")
    assert left.attributes.output_shape == (6,)


def test_an_output_shape_of_another_length_keeps_its_entries() -> None:
    longer = built(spatial=[4], kernel=[3], output_shape=[1, "full", "full-1"], breaks="output-shape-length")
    assert longer.attributes.output_shape == (1, 6, 5)
    nowhere = built(spatial=[], kernel=[], output_shape=[5, 6], breaks="output-shape-length")
    assert nowhere.attributes.output_shape == (5, 6)
    short = built(strides=[], output_shape=[5], breaks="strides-length")
    assert short.attributes.output_shape == (5,)


# Overrides.


def test_an_operand_may_be_other_than_the_rest() -> None:
    case = built(channels=4, out_channels=6, dtype="f32", seed=3, w={"channels": 5, "dtype": "f16"}, bias=True,
                 x={"spatial": [7], "data": "normal"}, b={"out_channels": 2, "seed": 9},
                 breaks="filter-channels-match")  # fmt: skip
    assert case.b is not None
    assert (case.x.shape, case.w.shape, case.b.shape) == ((1, 4, 7), (5, 6, 3), (2,))
    assert (case.x.dtype, case.w.dtype, case.b.dtype) == (DType.F32, DType.F16, DType.F32)
    assert (case.x.data, case.w.data, case.b.data) == ("normal", "integers", "integers")
    assert (case.x.seed, case.w.seed, case.b.seed) == (3, 3, 9)


# Layers.


def test_later_layers_win_and_null_takes_back() -> None:
    layers = {"strides": 2, "bias": True, "batch": 5}, {"strides": 3}, {"bias": None, "batch": None}
    case = build("a/b/c", *layers)
    assert (case.attributes.strides, case.b, case.x.shape[0]) == ((3,), None, 1)
    assert (case.facts["strides"], case.facts["bias"], case.facts["batch"]) == ("3", "false", "1")
    taken_back = build("a/b/c", *layers, {"strides": None})
    assert taken_back.attributes.strides is None
    assert "strides" not in taken_back.facts


def test_operands_are_merged_key_by_key() -> None:
    base = {"x": {"dtype": "f16", "seed": 4}, "w": {"seed": 1}}
    assert merge_settings(base, {"x": {"seed": 5}}) == {"x": {"dtype": "f16", "seed": 5}, "w": {"seed": 1}}
    again = build("a/b/c", merge_settings(base, {"x": {"dtype": None}, "w": None}))
    assert (again.x.dtype, again.x.seed, again.w.seed) == (DType.F32, 4, 0)
    assert merge_settings({"x": None}, {"x": {"seed": 1}}) == {"x": {"seed": 1}}
    assert base == {"x": {"dtype": "f16", "seed": 4}, "w": {"seed": 1}}


def test_a_later_filling_takes_the_earlier_one_back() -> None:
    values = {"x": {"values": [1, 2, 3, 4]}}
    assert build("a/b/c", merge_settings(values, {"x": {"data": "ones"}})).x.data == "ones"
    assert build("a/b/c", merge_settings({"x": {"data": "ones"}}, values)).x.values == (1, 2, 3, 4)
    assert build("a/b/c", merge_settings(values, {"x": {"seed": 3}})).x.values == (1, 2, 3, 4)


# Words, omissions, breaks.


def test_a_raw_word_is_written_as_it_is() -> None:
    case = built(auto_pad={"raw": "Same_Upper"}, breaks="auto-pad-known")
    assert case.attributes.auto_pad == "Same_Upper"
    assert case.facts["auto_pad"] == "Same_Upper"
    assert express(case, DIALECTS["onnx/ConvTranspose-22"]).attributes["auto_pad"] == "Same_Upper"


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_what_is_omitted_is_not_written(name: str) -> None:
    words = {"auto_pad": "valid", "data_format": "NXC", "filter_format": "XOI", "kernel_shape": "kernel"}
    settings: dict[str, Any] = {name: words.get(name, 1)}
    breaks = "output-size-non-negative" if name == "output_shape" else None
    assert getattr(built(**settings, breaks=breaks).attributes, name) is not None
    case = built(**settings, omit=[name])
    assert getattr(case.attributes, name) is None
    assert case.omit == (name,)
    for dialect in DIALECTS.values():
        assert getattr(write_signature(case, dialect).attributes, name) is None


@pytest.mark.parametrize("name", [name for name, constraint in CONSTRAINTS.items() if constraint.needed])
def test_breaking_on_purpose_is_allowed(name: str) -> None:
    assert built(strides=[1, 2], breaks=name).breaks == name
    assert "or say breaks: strides-length" in refused(strides=[1, 2])


# Facts.


def test_facts_are_settings_as_text() -> None:
    facts = built(spatial=[4, 5], kernel=[2, 3], strides=[2, 1], bias=True, omit=["dilations", "pads_end"]).facts
    wanted = {"spatial": "4x5", "kernel": "2x3", "strides": "2x1", "bias": "true", "dtype": "f32", "rank": "2"}
    assert wanted.items() <= facts.items()
    assert facts["omit"] == "dilationsxpads_end"
    assert "dilations" not in facts
    assert not {"x", "w", "b"} & facts.keys()


def test_labels_are_facts_and_win() -> None:
    settings = Settings.model_validate({"strides": 2}).written()
    facts = build("a/b/c[strides=two,shape=line,rank=one]", settings).facts
    assert (facts["strides"], facts["shape"], facts["rank"]) == ("two", "line", "one")
    assert build("a/b/c[shape=line]", settings).facts["strides"] == "2"


@pytest.mark.parametrize(
    ("settings", "fact", "value"),
    [
        ({"output_shape": None}, "output_shape_below_spatial", "false"),
        ({"output_shape": [4, 5]}, "output_shape_below_spatial", "false"),
        ({"output_shape": [4, 4]}, "output_shape_below_spatial", "true"),
        ({"output_shape": [3, 9]}, "output_shape_below_spatial", "true"),
        ({"output_shape": "full"}, "output_shape_below_spatial", "false"),
        ({"output_shape": "full"}, "output_shape_beyond_reach", "false"),
        ({"output_shape": "full+1"}, "output_shape_beyond_reach", "true"),
        ({"output_shape": None}, "output_shape_beyond_reach", "false"),
        ({"output_shape": "full+1"}, "output_shape_beyond_reach_by_stride", "true"),
        ({"output_shape": "full+1", "strides": [2, 1]}, "output_shape_beyond_reach_by_stride", "true"),
        ({"output_shape": "full+1", "strides": 2}, "output_shape_beyond_reach_by_stride", "false"),
        ({"output_shape": "full+1", "output_padding": 1}, "output_shape_beyond_reach_by_stride", "true"),
        ({"strides": None}, "strides_given", "false"),
        ({"strides": 1}, "strides_given", "true"),
        ({"pads_begin": None, "pads_end": None}, "pads_given", "false"),
        ({"pads_begin": None, "pads_end": 1}, "pads_given", "true"),
        ({}, "empty", "none"),
        ({"batch": 0}, "empty", "batch"),
        ({"spatial": [3, 0], "batch": 0}, "empty", "batch+spatial"),
        ({"w": {"shape": [2, 0, 2, 2]}, "breaks": "channels-not-empty"}, "empty", "channels"),
        ({"kernel": [0, 1]}, "empty", "kernel"),
        ({"groups": None}, "grouped", "false"),
        ({"groups": 1}, "grouped", "false"),
        ({"groups": 2}, "grouped", "true"),
        ({"output_padding": 0}, "output_padding_positive", "false"),
        ({"output_padding": [0, 1]}, "output_padding_positive", "true"),
        ({"pads_begin": 2, "kernel": [2, 2], "dilations": 2}, "pads_begin_beyond_kernel", "false"),
        ({"pads_begin": [0, 2], "kernel": [2, 2]}, "pads_begin_beyond_kernel", "true"),
        ({"output_shape": [0, 3]}, "output_empty", "true"),
        ({"pads_begin": 2, "pads_end": [3, 0]}, "output_empty", "true"),
        ({"pads_begin": 2, "pads_end": [3, 0], "output_padding": [1, 0], "strides": 2}, "output_empty", "false"),
        ({"pads_begin": 2, "pads_end": [3, 0], "auto_pad": "valid"}, "output_empty", "false"),
    ],
)
def test_facts_that_follow_from_several_settings(settings: dict[str, Any], fact: str, value: str) -> None:
    """What runtimes trip over, on any axis; of sizes of zero all are named, so that a waiver of one is not of two."""
    plain = {"spatial": [4, 5], "kernel": [2, 2], "channels": 2, "out_channels": 2}
    assert built(**plain | settings).facts[fact] == value


# What can be no case.


def test_the_largest_is_not_too_large() -> None:
    """2^24 elements pass for operands and output together; of what is more, the output's part is told."""
    assert built(spatial=[2**23 - 1], kernel=[1]).x.shape[-1] == 2**23 - 1
    together = f"operands and output together must have at most {2**24} elements"
    assert refused(spatial=[2**23], kernel=[1]) == (
        f"{together} (got up to {2**24 + 1}, of which the output has {2**23})"
    )
    assert refused(spatial=[2**24], kernel=[1], strides=2).startswith(together)


LISTS = st.integers(-1, 3) | st.lists(st.integers(-1, 3), max_size=3)
SIZES = st.lists(st.integers(0, 3), max_size=3)
OPERAND = st.fixed_dictionaries(
    {},
    optional={
        "shape": st.lists(st.integers(0, 3), max_size=4),
        "dtype": st.sampled_from(["f32", "f16"]),
        "data": st.sampled_from(["normal", "special"]),
    },
)
ANYTHING = st.fixed_dictionaries(
    {"spatial": SIZES},
    optional={
        "kernel": SIZES | st.integers(0, 3),
        **dict.fromkeys(("strides", "dilations", "pads_begin", "pads_end", "output_padding"), LISTS),
        **dict.fromkeys(("batch", "channels", "out_channels"), st.integers(0, 4)),
        "output_shape": st.sampled_from(["full", "full-2", 3, ["full+1", 2]]),
        "groups": st.integers(-1, 3),
        "auto_pad": st.sampled_from(["explicit", "valid", "same_upper", "same_lower", {"raw": "X"}]),
        "data_format": st.sampled_from(["NCX", "NXC", {"raw": "X"}]),
        "filter_format": st.sampled_from(["IOX", "XOI", {"raw": "X"}]),
        "bias": st.booleans(),
        "dtype": st.sampled_from(["f32", "f16", "bf16", "f64"]),
        "data": st.sampled_from(["integers", "normal", "special", "subnormal"]),
        "breaks": st.sampled_from(list(CONSTRAINTS)),
        "omit": st.lists(st.sampled_from(ATTRIBUTES), max_size=2, unique=True),
        **dict.fromkeys(("x", "w", "b"), OPERAND),
    },
)


@given(ANYTHING)
@examples(150)
def test_every_case_there_is_can_be_said_and_shown(settings: dict[str, Any]) -> None:
    """What is not refused as a case has an account in every dialect, and a model where an ONNX dialect can say it."""
    try:
        case = built(**settings)
    except ImpossibleCase:
        return
    operands = make_operands(case.x, case.w, case.b)
    for dialect in DIALECTS.values():
        assert len(list(case_details.in_dialect(case, dialect))) >= 2
        if dialect.name.startswith("onnx/") and not isinstance(expect(case, dialect), NotApplicable):
            call = express(case, dialect)
            assert onnx_model.build(call, arrange_operands(operands, call)).ByteSize()


@given(ANYTHING)
@examples(150)
def test_no_value_is_larger_than_what_was_checked(settings: dict[str, Any]) -> None:
    """Where sizes are refused from a limit on, no reading of any dialect expects an output beyond the limit."""
    limit = 200
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tconv.corpus.building.MOST_ELEMENTS", limit)
        try:
            case = built(**settings)
        except ImpossibleCase:
            return
    # `expected` bounds such an output, for those who are asked at all.
    assume(case.breaks != "output-padding-below-stride-or-dilation")
    for dialect in DIALECTS.values():
        expected = expect(case, dialect)
        if isinstance(expected, Values):
            for candidate in (expected.primary, *expected.disputed):
                assert (
                    case.x.shape[0] * case.w.shape[1] * candidate.geometry.groups * prod(candidate.geometry.output)
                    <= limit
                )
