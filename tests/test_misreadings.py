"""Misreadings: each is one thing, changes what it says and nothing else, and the corpus notices all of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from mutants import UNLISTED, noticed
from strategies import every
from tconv.cases.call import write_signature
from tconv.cases.operands import make_operands
from tconv.diagnosis.misreadings import CATALOGUE, MisreadCall, apply, misreadings_of
from tconv.dialects import DIALECTS
from tconv.expectation.expected import Values, expect
from tconv.expectation.problem import Problem
from tconv.expectation.truth import Truth
from tconv.investigation.further_cases import misread_output
from tconv.vocabulary import Attributes, DType, Signature, TensorType

if TYPE_CHECKING:
    from tconv.cases.case import Case
    from tconv.corpus import Corpus

ONNX = DIALECTS["onnx/ConvTranspose-22"]
BY_NAME = {one.name: one for one in (*CATALOGUE, *UNLISTED)}


def made(
    name: str, attributes: Attributes, x: tuple[int, ...], w: tuple[int, ...], *, bias: bool = False
) -> MisreadCall | None:
    """Return what a misreading makes of a call on counted operands."""
    outputs = w[1] * (attributes.groups or 1)
    operands = {
        "x": np.arange(1.0, np.prod(x) + 1).reshape(x),
        "w": np.arange(1.0, np.prod(w) + 1).reshape(w),
    } | ({"b": np.arange(10.0, 10 + outputs)} if bias else {})
    written = Signature(
        attributes,
        TensorType(x, DType.F32),
        TensorType(w, DType.F32),
        TensorType((outputs,), DType.F32) if bias else None,
    )
    return apply([BY_NAME[name]], written, ONNX, operands)


def test_names_and_sentences_are_unique() -> None:
    """Each row is another thing; names stand in records, sentences before readers."""
    for name in DIALECTS:
        rows = misreadings_of(DIALECTS[name])
        assert len({misreading.name for misreading in rows}) == len(rows)
        assert len({misreading.says for misreading in rows}) == len(rows)
        assert all(misreading.says and misreading.name == misreading.name.strip() for misreading in rows)


def test_what_a_text_allows_is_no_misreading() -> None:
    """A disputed answer is not in the catalogue of its dialect; it may be in another's."""
    for dialect in DIALECTS.values():
        allowed = {f"{misreading.change.question}={misreading.change.answer}" for misreading in dialect.disputed}
        assert not allowed & {misreading.name for misreading in misreadings_of(dialect)}
    assert "same=input-times-stride" in {
        misreading.name for misreading in misreadings_of(DIALECTS["onnx/ConvTranspose-1"])
    }
    assert "same=input-times-stride" not in {misreading.name for misreading in misreadings_of(ONNX)}


@pytest.mark.parametrize(
    ("name", "attributes", "begin", "output"),
    [
        ("pads-ignored", {"pads_begin": (1, 2), "pads_end": (0, 1)}, (0, 0), (5, 6)),
        ("pads-exchanged", {"pads_begin": (1, 2), "pads_end": (0, 1)}, (0, 1), (4, 3)),
        ("pads-interleaved", {"pads_begin": (1, 2), "pads_end": (0, 1)}, (1, 0), (2, 5)),
        ("pads-symmetric", {"pads_begin": (1, 2), "pads_end": (0, 1)}, (1, 2), (3, 2)),
        ("pads-axes-reversed", {"pads_begin": (1, 2), "pads_end": (0, 1)}, (2, 1), (2, 5)),
        ("pads-of-the-first-axis", {"pads_begin": (1, 2), "pads_end": (0, 1)}, (1, 1), (4, 5)),
        ("begin-of-the-first-axis", {"pads_begin": (1, 2), "pads_end": (0, 1)}, (1, 1), (4, 3)),
        ("pads-added", {"pads_begin": (1, 2), "pads_end": (0, 1)}, (-1, -2), (6, 9)),
        ("output-padding-ignored", {"strides": (2, 2), "output_padding": (1, 0)}, (0, 0), (7, 9)),
        ("output-padding-at-the-beginning", {"strides": (2, 2), "output_padding": (1, 0)}, (-1, 0), (8, 9)),
        ("strides-of-the-first-axis", {"strides": (2, 3)}, (0, 0), (7, 9)),
        ("strides-axes-reversed", {"strides": (2, 3)}, (0, 0), (9, 9)),
        ("strides-for-dilations", {"strides": (2, 1), "dilations": (1, 3)}, (0, 0), (7, 12)),
        # A convolution of 3 by 4 with strides of 2 and 3 has 2 by 2 outputs: 2*1 + 3 - 3 = 2, and 3*1 + 3 - 4 = 2.
        ("same-as-of-a-convolution", {"strides": (2, 3), "auto_pad": "same_upper"}, (1, 1), (5, 10)),
        ("same-as-of-a-convolution", {"strides": (2, 1), "auto_pad": "same_lower"}, (1, 1), (5, 4)),
        ("one-too-late", {}, (1, 1), (5, 6)),
        ("pads-on-the-data", {"strides": (2, 1), "pads_begin": (1, 0), "pads_end": (2, 1)}, (-2, 0), (13, 7)),
        ("crop-split-in-halves", {"pads_begin": (3, 0), "output_padding": (1, 0)}, (1, 0), (3, 6)),
        ("output-padding-times-stride", {"strides": (2, 3), "output_padding": (1, 2)}, (0, 0), (9, 18)),
        ("pads-begin-within-the-kernel", {"pads_begin": (3, 1), "dilations": (1, 2)}, (2, 1), (2, 7)),
        ("strides-in-the-size-alone", {"strides": (2, 3), "pads_begin": (1, 0)}, (1, 0), (6, 12)),
    ],
)
def test_what_a_misreading_makes_of_the_geometry(
    name: str, attributes: dict[str, tuple[int, int]], begin: tuple[int, int], output: tuple[int, int]
) -> None:
    """Plain integers, by hand: data of 3 by 4 under a filter of 3 by 3."""
    found = made(name, Attributes(**attributes), (1, 1, 3, 4), (1, 1, 3, 3))  # type: ignore[arg-type] # lists alone
    assert found is not None
    assert (found.geometry.pads_begin, found.geometry.output) == (begin, output)


@pytest.mark.parametrize(
    ("name", "begin", "output"),
    [
        ("third-axis-has-the-pads-of-the-first", (0, 1, 0), (3, 1, 3)),
        ("third-axis-begins-as-the-first", (0, 1, 0), (3, 1, 2)),
    ],
)
def test_what_the_third_axis_has_of_the_first_by_hand(
    name: str, begin: tuple[int, ...], output: tuple[int, ...]
) -> None:
    """Data of 3 by 3 by 3 under one tap; of two axes there is no third."""
    attributes = Attributes(pads_begin=(0, 1, 1), pads_end=(0, 1, 0))
    found = made(name, attributes, (1, 1, 3, 3, 3), (1, 1, 1, 1, 1))
    assert found is not None
    assert (found.geometry.pads_begin, found.geometry.output) == (begin, output)
    assert made(name, Attributes(pads_begin=(0, 1), pads_end=(0, 1)), (1, 1, 3, 3), (1, 1, 1, 1)) is None


def test_what_a_misreading_makes_of_the_operands() -> None:
    """Elements, by hand: a filter of 1 to 4 flipped, exchanged, or without its last."""
    plain = Attributes()
    flipped = made("filter-flipped", plain, (1, 1, 3), (1, 1, 4))
    dropped = made("last-tap-dropped", plain, (1, 1, 3), (1, 1, 4))
    exchanged = made("filter-channels-exchanged", plain, (1, 2, 3), (2, 2, 1))
    memory = made("filter-read-as-xoi", plain, (1, 2, 3), (2, 1, 2))
    for found, expected in (
        (flipped, [4, 3, 2, 1]),
        (dropped, [1, 2, 3, 0]),
        (exchanged, [1, 3, 2, 4]),
        (memory, [1, 3, 2, 4]),
    ):
        assert found is not None
        assert found.operands["w"].ravel().tolist() == expected
    grouped = Attributes(groups=2)
    turned = made("group-outputs-reversed", grouped, (1, 2, 1), (2, 1, 1), bias=True)
    assert turned is not None
    assert (turned.operands["x"].ravel().tolist(), turned.operands["w"].ravel().tolist()) == ([2, 1], [2, 1])
    assert turned.operands["b"].tolist() == [10, 11]
    doubled = made("bias-doubled", plain, (1, 1, 1), (1, 2, 1), bias=True)
    assert doubled is not None
    assert doubled.operands["b"].tolist() == [20, 22]


@pytest.mark.parametrize(
    ("name", "channels"),
    [("output-channels-dealt", [0, 3, 1, 4, 2, 5]), ("output-channels-collected", [0, 2, 4, 1, 3, 5])],
)
def test_the_order_of_output_channels_by_hand(name: str, channels: list[int]) -> None:
    """Two groups of three: the first of each group, then the second ones, as in oneDNN#352; and what undoes that."""
    found = made(name, Attributes(groups=2), (1, 2, 1), (2, 3, 1))
    assert found is not None
    assert found.finish is not None
    assert found.finish(np.arange(6.0).reshape(1, 6, 1)).ravel().tolist() == channels


def test_input_channels_are_dealt_by_hand() -> None:
    """The first group of two has the channels 0, 2 and 4 of six."""
    found = made("input-channels-dealt", Attributes(groups=2), (1, 6, 1), (6, 1, 1))
    assert found is not None
    assert found.operands["x"].ravel().tolist() == [1, 3, 5, 2, 4, 6]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("input-channels-beyond-four-dropped", [1, 2, 3, 4, 0, 0, 7, 8, 9, 10, 0, 0]),
        ("input-channels-beyond-four-unweighted", [1, 2, 3, 4, 1, 1, 7, 8, 9, 10, 1, 1]),
    ],
)
def test_the_input_channels_that_fill_no_block_by_hand(name: str, expected: list[int]) -> None:
    """Of each group of six the last two: they have no weight, or 1 in its place; three, or eight, are left alone."""
    found = made(name, Attributes(groups=2), (1, 12, 1), (12, 1, 1))
    assert found is not None
    assert found.operands["w"].ravel().tolist() == expected
    for channels in (3, 8):
        assert made(name, Attributes(), (1, channels, 1), (channels, 1, 1)) is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("last-position-dropped", [1, 2, 0, 4, 5, 0]),
        ("last-position-of-the-first-axis-dropped", [1, 2, 3, 0, 0, 0]),
        ("data-bounded-by-the-kernel", [1, 2, 0, 0, 0, 0]),
    ],
)
def test_the_positions_of_the_data_that_are_left_out_by_hand(name: str, expected: list[int]) -> None:
    """Two lines of three, under a filter of one line of two taps."""
    found = made(name, Attributes(), (1, 1, 2, 3), (1, 1, 1, 2))
    assert found is not None
    assert found.operands["x"].ravel().tolist() == expected


@pytest.mark.parametrize(
    "name",
    [name for name in BY_NAME if name.startswith(("last-position", "last-column", "positions-", "data-bounded"))],
)
def test_without_spatial_axes_no_channel_is_taken_for_a_position(name: str) -> None:
    """The last axis of such data is its channels."""
    found = made(name, Attributes(), (1, 6), (6, 6))
    if found is not None:
        assert found.finish is not None
        assert found.finish(np.ones((1, 6))).all()


def test_what_the_kernel_bounds_is_nothing_where_it_is_the_larger() -> None:
    """A point under two taps is used."""
    assert made("data-bounded-by-the-kernel", Attributes(), (1, 1, 1), (1, 1, 2)) is None


def test_a_line_has_no_first_axis_beside_its_last() -> None:
    """Else one bug would have two names there."""
    assert made("last-position-of-the-first-axis-dropped", Attributes(), (1, 1, 3), (1, 1, 2)) is None


def test_the_first_axis_s_kernel_counts_for_all_by_hand() -> None:
    """Data of 3 by 4 under a filter of 2 by 5: the second axis is 4 - 1 + 2 long."""
    found = made("kernel-of-the-first-axis", Attributes(), (1, 1, 3, 4), (1, 1, 2, 5))
    assert found is not None
    assert found.geometry.output == (4, 5)


@pytest.mark.parametrize("name", ["output-padding-times-stride", "kernel-of-the-first-axis", "kernel-plus-dilation"])
@pytest.mark.parametrize("attributes", [{"output_shape": (6, 6)}, {"auto_pad": "same_upper"}])
def test_a_size_that_is_given_or_same_is_no_sum(name: str, attributes: dict[str, Any]) -> None:
    """What is wrong in the sum changes nothing there."""
    given = Attributes(strides=(2, 2), dilations=(2, 2), output_padding=(1, 1), **attributes)
    assert made(name, given, (1, 1, 3, 3), (1, 1, 2, 5)) is None


@pytest.mark.parametrize(
    ("name", "role", "expected"),
    [
        ("data-read-as-nxc", "x", [[1, 3, 5], [2, 4, 6]]),
        ("data-read-as-ncx", "x", [[1, 4, 2], [5, 3, 6]]),
        ("filter-read-as-xoi", "w", [[1, 5, 9, 3, 7, 11], [2, 6, 10, 4, 8, 12]]),
        ("filter-read-as-iox", "w", [[1, 7, 4, 10, 2, 8], [5, 11, 3, 9, 6, 12]]),
        ("filter-read-as-oix", "w", [[1, 2, 3, 7, 8, 9], [4, 5, 6, 10, 11, 12]]),
    ],
)
def test_what_the_memory_of_one_layout_is_in_another(name: str, role: str, expected: list[list[int]]) -> None:
    """Two channels of three points, and a filter of two by two channels and three taps, counted in NCX and IOX."""
    found = made(name, Attributes(), (1, 2, 3), (2, 2, 3))
    assert found is not None
    assert found.operands[role].reshape(2, -1).tolist() == expected


def test_the_points_that_no_tap_reaches_by_hand() -> None:
    """Three points a stride of 3 apart, under two taps, from the second point on: 1 . 3 4 . 6 7."""
    attributes = Attributes(strides=(3,), pads_begin=(1,), output_padding=(0,))
    found = made("unreached-points-are-zero", attributes, (1, 1, 3), (1, 1, 2), bias=True)
    assert found is not None
    assert found.finish is not None
    assert found.finish(np.ones((1, 1, 7))).ravel().tolist() == [1, 0, 1, 1, 0, 1, 1]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # Positions 1, 2, 3 under taps 1, 2, 3, a stride of 2 apart: 1 2 3+2 4 6+3 6 9, beside a bias of 10.
        ("overlaps-hold-the-first-tap", [11, 12, 12, 14, 13, 16, 19]),
        ("overlaps-hold-the-last-tap", [11, 12, 13, 14, 16, 16, 19]),
    ],
)
def test_one_product_remains_where_taps_overlap_by_hand(name: str, expected: list[float]) -> None:
    """The bias is added to the product that remains."""
    found = made(name, Attributes(strides=(2,)), (1, 1, 3), (1, 1, 3), bias=True)
    assert found is not None
    assert found.finish is not None
    y = found.finish(Truth(found.operands, DType.F32).compute_values(found.geometry))
    assert y.ravel().tolist() == expected
    assert found.output == (7,)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        # Positions 1 to 5 under taps 1, 2, 3: 1+4+9, 2+6+12, 3+8+15, and of every second one of these.
        ({}, [14, 20, 26]),
        ({"strides": (2,)}, [14, 26]),
        # Beside a 0 at the beginning 2+6, and at the end 4+10; output_padding is no padding of the data.
        ({"strides": (2,), "pads_begin": (1,), "pads_end": (1,), "output_padding": (1,)}, [8, 20, 14]),
        ({"dilations": (2,), "pads_begin": (2,)}, [11, 16, 22]),
    ],
)
def test_a_convolution_in_place_of_its_transpose_by_hand(
    attributes: dict[str, tuple[int]], expected: list[float]
) -> None:
    """Each output is a sum over the taps of positions a dilation apart; those of the next one are a stride further."""
    found = made("convolution-not-transposed", Attributes(**attributes), (1, 1, 5), (1, 1, 3))  # type: ignore[arg-type] # lists
    assert found is not None
    y = Truth(found.operands, DType.F32).compute_values(found.geometry)
    assert (found.finish(y) if found.finish else y).ravel().tolist() == expected
    assert found.output == (len(expected),)


def test_a_convolution_without_an_output_is_none() -> None:
    """The kernel does not fit into the data."""
    assert made("convolution-not-transposed", Attributes(), (1, 1, 2), (1, 1, 3)) is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # Two groups of one channel, whose sums are 1 2 and 6 8 in the first item, 5 6 and 14 16 in the second one.
        ("sums-of-groups-accumulate", [[11, 12], [18, 21], [15, 16], [30, 33]]),
        ("bias-along-the-last-axis", [[11, 13], [16, 19], [15, 17], [24, 27]]),
        ("bias-in-the-first-item-alone", [[11, 12], [17, 19], [5, 6], [14, 16]]),
    ],
)
def test_what_is_made_of_sums_and_bias_by_hand(name: str, expected: list[list[float]]) -> None:
    """Two items of two channels of two points, each channel under a filter of one tap, beside a bias of 10 and 11."""
    found = made(name, Attributes(groups=2), (2, 2, 2), (2, 1, 1), bias=True)
    assert found is not None
    assert found.finish is not None
    y = found.finish(Truth(found.operands, DType.F32).compute_values(found.geometry))
    assert y.reshape(4, 2).tolist() == expected


def test_the_bias_along_an_axis_of_another_size_stays_where_it_is() -> None:
    """Three points have no place for the bias of two channels; a line has no first axis beside its last."""
    for name, x in (("bias-along-the-last-axis", (1, 1, 3)), ("bias-along-the-first-axis", (1, 1, 2))):
        assert made(name, Attributes(), x, (1, 2, 1), bias=True) is None


def test_sums_accumulate_without_their_bias() -> None:
    """Those of a group begin with the sums before it, and not with the bias that was added to these, as NaN may be."""
    found = made("sums-of-groups-accumulate", Attributes(groups=2), (1, 2, 1), (2, 1, 1), bias=True)
    assert found is not None
    assert found.finish is not None
    operands = dict(found.operands)
    assert "b" not in operands
    y = found.finish(Truth(operands, DType.F32).compute_values(found.geometry))
    assert y.ravel().tolist() == [11, 16]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("bias-of-the-group-number", [10, 10, 11, 11]), ("bias-of-every-group-added", [20, 22, 24, 26])],
)
def test_the_bias_of_groups_by_hand(name: str, expected: list[float]) -> None:
    """Two groups of two output channels, with a bias of 10 to 13."""
    found = made(name, Attributes(groups=2), (1, 2, 1), (2, 2, 1), bias=True)
    assert found is not None
    assert found.operands["b"].tolist() == expected


def test_overlaps_of_large_outputs_are_not_looked_for() -> None:
    """What has a point for each position and tap would not fit into memory."""
    assert made("overlaps-hold-the-first-tap", Attributes(), (1, 1, 2, 2), (1, 1, 2**12, 1)) is not None
    assert made("overlaps-hold-the-first-tap", Attributes(), (1, 1, 2**8, 2**8), (1, 1, 5, 5)) is None


@pytest.mark.parametrize(
    ("name", "axis", "zero"),
    [("channels-beyond-four-are-zero", 1, [4, 5]), ("positions-beyond-eight-are-zero", 3, [8])],
)
def test_what_fills_no_block_of_the_output_by_hand(name: str, axis: int, zero: list[int]) -> None:
    """Six channels of two lines of nine: the last two channels, or the last position."""
    found = made(name, Attributes(), (1, 1, 2, 9), (1, 6, 1, 1))
    assert found is not None
    assert found.finish is not None
    parts = np.moveaxis(found.finish(np.ones((1, 6, 2, 9))), axis, 0)
    assert [index for index, part in enumerate(parts) if not part.any()] == zero
    assert np.count_nonzero(parts) * len(parts) == parts.size * (len(parts) - len(zero))


def test_rounding_keeps_so_many_bits() -> None:
    """TF32 has 11 bits of significand, bfloat16 has 8; ties go to even."""
    for name, bits in (("operands-rounded-to-tf32", 11), ("operands-rounded-to-bf16", 8)):
        change = BY_NAME[name].change
        values = np.array([1 + 2.0**-bits, 1 + 3 * 2.0**-bits, 2.0**bits, -(2.0 ** (bits - 1)) - 1])
        rounded = change.change({"x": values, "w": values}, None, None)["x"]  # type: ignore[union-attr, arg-type, call-arg]
        assert rounded.tolist() == [1.0, 1 + 4 * 2.0**-bits, 2.0**bits, -(2.0 ** (bits - 1)) - 1]


@pytest.mark.parametrize(
    ("name", "largest"), [("filter-rounded-to-8-bits", [4, 4]), ("output-channels-rounded-to-8-bits", [2, 4])]
)
def test_a_filter_of_8_bits_by_hand(name: str, largest: list[int]) -> None:
    """Two output channels of two taps, 1 2 and 3 4: each is a multiple of the largest magnitude over 127."""
    found = made(name, Attributes(), (1, 1, 3), (1, 2, 2))
    assert found is not None
    steps = found.operands["w"].reshape(2, 2) / (np.array(largest)[:, None] / 127)
    assert np.allclose(steps, [[32, 64], [95, 127]] if largest == [4, 4] else [[64, 127], [95, 127]])


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("pads-exchanged", {"pads_begin": (1,), "pads_end": (1,)}),
        ("strides-axes-reversed", {"strides": (2,)}),
        ("groups-reversed", {}),
        ("output-padding-ignored", {}),
        ("bias-doubled", {}),
        ("filter-axes-exchanged", {}),
    ],
)
def test_what_does_not_apply_changes_nothing(name: str, attributes: dict[str, tuple[int, ...]]) -> None:
    """So that it is no candidate, and no case is said to be affected."""
    assert made(name, Attributes(**attributes), (1, 1, 3), (1, 1, 2)) is None  # type: ignore[arg-type] # lists alone


def test_a_misreading_is_the_reference_of_something_else(smoke_cases: tuple[Case, ...]) -> None:
    """Whatever a misreading makes of a call can be computed, and has the shape of its geometry."""
    computed: Counter[str] = Counter()
    # In the profile `quick` each is computed for its first cases, as some apply to few.
    most = len(smoke_cases) if every(1) == 1 else 40
    for case in smoke_cases:
        expected = expect(case, ONNX)
        if not isinstance(expected, Values) or np.prod(case.x.shape) * np.prod(case.w.shape) > 2**18:
            continue
        operands = {role: array.astype(np.float64) for role, array in make_operands(case.x, case.w, case.b).items()}
        for misreading in misreadings_of(ONNX):
            if computed[misreading.name] == most:
                continue
            found = apply([misreading], write_signature(case, ONNX), ONNX, operands)
            if found is not None:
                y = Truth(found.operands, case.x.dtype).compute_values(found.geometry)
                finished = y if found.finish is None else found.finish(y)
                assert finished.shape[2:] == found.output, (case.id, misreading.name)
                computed[misreading.name] += 1
    assert set(computed) == {misreading.name for misreading in misreadings_of(ONNX)}


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["onnx/ConvTranspose-22", "openvino/GroupConvolutionBackpropData-1"])
def test_the_smoke_tier_notices_every_misreading(name: str, smoke_cases: tuple[Case, ...]) -> None:
    """There is no survivor but what the text also allows."""
    of_misreading = noticed(smoke_cases, DIALECTS[name], once=True)
    unaffected = {name for name, each in of_misreading.items() if not each.affected}
    survivors = {name for name, each in of_misreading.items() if not each.killed}
    # In OpenVINO's texts formula and prose part on the odd unit of either mode: exchanged, both are disputed readings.
    assert survivors == unaffected | (set() if "onnx" in name else {"upper-for-lower"})
    # OpenVINO's have no bias, and pad nothing under SAME, so that no unit is odd there and no total negative.
    never = ("bias-", "unreached-points", "odd_upper", "odd_lower", "negative_same")
    assert unaffected == (set() if "onnx" in name else {name_ for name_ in unaffected if name_.startswith(never)})


INTERACTIONS = {
    ("strides-axes-reversed", "dilations-axes-reversed", "pads-axes-reversed", "pads-exchanged"): (
        "split=two", "split=depthwise", "dtype=f16", "dtype=bf16", "layouts=channels-last", "batch=2", "bias=true",
        "interactions/volumes",
    ),
    (
        "input-channels-beyond-four-dropped", "input-channels-beyond-eight-dropped",
        "input-channels-beyond-sixteen-dropped", "input-channels-beyond-four-unweighted",
        "channels-beyond-four-are-zero", "channels-beyond-eight-are-zero", "channels-beyond-sixteen-are-zero",
    ): (
        "shape=line,", "shape=line-point", "shape=plane-point", "shape=volume", "spacing=strided", "spacing=dilated",
        "spacing=added", "padding=pads", "padding=same-lower", "dtype=f16", "layouts=channels-last",
    ),
}  # fmt: skip
"""What a kernel of its own may get wrong, and the calls that kernels of their own are written for."""


@pytest.mark.thorough
def test_the_gate_notices_a_misreading_of_one_kernel_alone(corpus: Corpus) -> None:
    """A runtime may be right but in groups, in a type or in one rank: each has cases that notice it there."""
    cases = list(corpus.cases("gate", ["interactions/**"]))
    of_misreading = noticed(cases, ONNX, {name for names in INTERACTIONS for name in names})
    unnoticed = [
        (name, label)
        for names, labels in INTERACTIONS.items()
        for name in names
        for label in labels
        if not any(label in case for case in of_misreading[name].killed)
    ]
    assert unnoticed == []


def test_what_no_process_can_hold_is_no_mutant(corpus: Corpus) -> None:
    """A stride of 2^63 - 1 that is taken for a dilation asks for an output of that size."""
    dialect = DIALECTS["onnx/ConvTranspose-22"]
    cases = list(corpus.cases("gate", ["**[strides=9223372036854775807]"]))
    values = [problem for case in cases if (problem := Problem(case, dialect)).values is not None]
    misreading = next(each for each in misreadings_of(dialect) if each.name == "strides-for-dilations")
    assert values
    assert {misread_output(problem, misreading) is None for problem in values} == {True}
