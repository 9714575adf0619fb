"""One resolver gives every dialect's geometry: cell by cell as the texts have it, and as a whole."""

from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import BACKPROP, ONEDNN, ONNX, examples, signatures, written
from tconv.dialects import DIALECTS
from tconv.dialects.geometry import Geometry, reach, resolve
from tconv.dialects.rules import Negative, Odd, Rules, Same, Sized
from tconv.errors import Violation
from tconv.vocabulary import Attributes, AutoPad, Signature

ONNX_1, ONNX_11, ONNX_22 = ONNX

Place = tuple[int, int]


def place(dialect: str, spatial: int, kernel: int, **attributes: int | str) -> Place:
    """Return (pads_begin, output) of one axis under a dialect's primary rules; numbers are meant for that axis."""
    lists = {name: (value,) if isinstance(value, int) else value for name, value in attributes.items()}
    found = resolve(written((spatial,), (kernel,), Attributes(**lists)), DIALECTS[dialect].rules)  # type: ignore[arg-type]
    assert isinstance(found, Geometry)
    return found.pads_begin[0], found.output[0]


# Each cell of the table, by hand. X=3, K=3, s=2 reaches (3-1)*2 + (3-1)*1 + 1 = 7 unless it says otherwise.


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("kernel", "attributes", "expected"),
    [
        (3, {"strides": 1}, (0, 5)),
        (3, {"strides": 2}, (0, 7)),
        (3, {"strides": 2, "dilations": 3}, (0, 11)),
        (3, {"strides": 2, "pads_begin": 1}, (1, 6)),
        (3, {"strides": 2, "pads_end": 2}, (0, 5)),
        (3, {"strides": 2, "pads_begin": 3, "pads_end": 1}, (3, 3)),
        (3, {"strides": 2, "pads_begin": 3, "pads_end": 4}, (3, 0)),
        (3, {"strides": 2, "output_padding": 1}, (0, 8)),
        (3, {"strides": 2, "pads_begin": 1, "pads_end": 1, "output_padding": 1}, (1, 6)),
        (2, {"strides": 5, "output_padding": 4}, (0, 16)),
        (1, {"strides": 2, "auto_pad": "explicit"}, (0, 5)),
    ],
)
def test_explicit_pads(dialect: str, kernel: int, attributes: dict[str, int | str], expected: Place) -> None:
    """Explicit: stride*(X-1) + output_padding + ((K-1)*dilation + 1) - pads, the first equation of every text."""
    assert place(dialect, 3, kernel, **attributes) == expected


@pytest.mark.parametrize("dialect", sorted(DIALECTS.keys() - {"geometry/1"}))
def test_valid_pads_nothing(dialect: str) -> None:
    """VALID: no padding, and output_padding counts; auto_pad, 'VALID mean no padding', 'valid - do not use padding'."""
    assert place(dialect, 3, 3, strides=2, auto_pad="valid") == (0, 7)
    assert place(dialect, 3, 3, strides=2, auto_pad="valid", output_padding=1) == (0, 8)


@pytest.mark.parametrize("dialect", [ONEDNN, *BACKPROP])
@pytest.mark.parametrize("mode", ["valid", "same_upper", "same_lower"])
def test_pads_beside_a_mode_are_ignored(dialect: str, mode: str) -> None:
    """oneDNN, OpenVINO, pads_begin: 'the attribute is ignored when auto_pad attribute is specified'."""
    alone = place(dialect, 3, 3, strides=2, auto_pad=mode)
    assert place(dialect, 3, 3, strides=2, auto_pad=mode, pads_begin=2, pads_end=3) == alone


@pytest.mark.parametrize(
    ("dialect", "kernel", "attributes", "expected"),
    [
        # ONNX 11, 22: auto_pad, 'output_shape[i] = input_shape[i] * strides[i]', 'the extra padding is added at the
        # end for SAME_UPPER and at the beginning for SAME_LOWER'. Total 7 - 6 = 1; K=4: 8 - 6 = 2; op: 7 + 1 - 6 = 2.
        (ONNX_11, 3, {"auto_pad": "same_upper"}, (0, 6)),
        (ONNX_11, 3, {"auto_pad": "same_lower"}, (1, 6)),
        (ONNX_11, 4, {"auto_pad": "same_upper"}, (1, 6)),
        (ONNX_11, 4, {"auto_pad": "same_lower"}, (1, 6)),
        (ONNX_11, 3, {"auto_pad": "same_upper", "output_padding": 1}, (1, 6)),
        (ONNX_11, 3, {"auto_pad": "same_lower", "output_padding": 1}, (1, 6)),
        (ONNX_11, 4, {"auto_pad": "same_upper", "output_padding": 1}, (1, 6)),
        (ONNX_11, 4, {"auto_pad": "same_lower", "output_padding": 1}, (2, 6)),
        (ONNX_11, 3, {"auto_pad": "same_upper", "dilations": 3}, (2, 6)),
        # ONNX 1: auto_pad, 'pad the input so that the output spatial size match the input'. Total 7 - 3 = 4; K=4: 5.
        (ONNX_1, 3, {"auto_pad": "same_upper"}, (2, 3)),
        (ONNX_1, 3, {"auto_pad": "same_lower"}, (2, 3)),
        (ONNX_1, 4, {"auto_pad": "same_upper"}, (2, 3)),
        (ONNX_1, 4, {"auto_pad": "same_lower"}, (3, 3)),
        (ONNX_1, 3, {"auto_pad": "same_upper", "output_padding": 1}, (2, 3)),
        (ONNX_1, 3, {"auto_pad": "same_lower", "output_padding": 1}, (3, 3)),
        # oneDNN ConvTranspose-1: total_padding = (filter_shape - 1)*dilations + 1 - stride, without output_padding,
        # which the first equation adds to the size: 3*2 + op. Total 3 - 2 = 1; K=4: 2; d=3: 7 - 2 = 5.
        (ONEDNN, 3, {"auto_pad": "same_upper"}, (0, 6)),
        (ONEDNN, 3, {"auto_pad": "same_lower"}, (1, 6)),
        (ONEDNN, 4, {"auto_pad": "same_upper"}, (1, 6)),
        (ONEDNN, 3, {"auto_pad": "same_upper", "output_padding": 1}, (0, 7)),
        (ONEDNN, 3, {"auto_pad": "same_lower", "output_padding": 1}, (1, 7)),
        (ONEDNN, 4, {"auto_pad": "same_lower", "output_padding": 2}, (1, 8)),
        (ONEDNN, 3, {"auto_pad": "same_upper", "dilations": 3}, (2, 6)),
        (ONEDNN, 3, {"auto_pad": "same_lower", "dilations": 3}, (3, 6)),
        # ConvolutionBackpropData-1: 'if auto_pads != None: pads_begin[i] = 0 ... pads_end[i] = 0'.
        *[
            row
            for dialect in BACKPROP
            for row in (
                (dialect, 3, {"auto_pad": "same_upper"}, (0, 7)),
                (dialect, 3, {"auto_pad": "same_lower"}, (0, 7)),
                (dialect, 4, {"auto_pad": "same_upper", "output_padding": 1}, (0, 9)),
                (dialect, 1, {"auto_pad": "same_lower", "output_padding": 1}, (0, 6)),
            )
        ],
    ],
)
def test_same_without_output_shape(
    dialect: str, kernel: int, attributes: dict[str, int | str], expected: Place
) -> None:
    """SAME_* without output_shape: each text has its own size and its own side for the odd unit."""
    assert place(dialect, 3, kernel, strides=2, **attributes) == expected
    if dialect == ONNX_11:
        assert place(ONNX_22, 3, kernel, strides=2, **attributes) == expected


_ONE_SIDE = {
    # Where the odd unit goes: the beginning's share of 1, 2 and 3 units.
    "begin": (1, 1, 2),
    "end": (0, 1, 1),
}


@pytest.mark.parametrize(
    ("dialects", "sides"),
    [
        # ONNX 11: the beginning has the smaller half where auto_pads == SAME_UPPER, the larger one elsewhere.
        ((ONNX_11, ONNX_22), {"same_upper": "end", "same_lower": "begin", "explicit": "begin", "valid": "begin"}),
        # ONNX 1: the beginning has the smaller half where auto_pads != SAME_UPPER, the larger one elsewhere.
        ((ONNX_1,), {"same_upper": "begin", "same_lower": "end", "explicit": "end", "valid": "end"}),
        # BackpropData: the same inequality as ONNX 1.
        (BACKPROP, {"same_upper": "begin", "same_lower": "end", "explicit": "end", "valid": "end"}),
    ],
)
def test_output_shape_recomputes_the_pads(dialects: tuple[str, ...], sides: dict[str, str]) -> None:
    """output_shape: 'pads values are ignored', and full + op - output_shape is split by each text's second formula."""
    for dialect in dialects:
        for mode, side in sides.items():
            for total, begin in zip((1, 2, 3), _ONE_SIDE[side], strict=True):
                sized = place(dialect, 3, 3, strides=2, auto_pad=mode, output_shape=7 - total)
                assert sized == (begin, 7 - total), (dialect, mode, total)
                with_padding = place(dialect, 3, 3, strides=2, auto_pad=mode, output_shape=8 - total, output_padding=1)
                assert with_padding == (begin, 8 - total), (dialect, mode, total)
            written_pads = place(dialect, 3, 3, strides=2, output_shape=6, pads_begin=3, pads_end=2)
            assert written_pads == place(dialect, 3, 3, strides=2, output_shape=6)


def test_output_padding_takes_part_in_the_total_and_not_in_the_size() -> None:
    """ONNX 11, output_padding: 'does not contribute additional size to "output_shape" but participates in' padding."""
    assert place(ONNX_11, 3, 3, strides=2, output_shape=7) == (0, 7)
    assert place(ONNX_11, 3, 3, strides=2, output_shape=7, output_padding=1) == (1, 7)
    assert place(ONNX_1, 3, 3, strides=2, output_shape=6, output_padding=1) == (1, 6)


@pytest.mark.parametrize(
    ("dialect", "attributes", "expected"),
    [
        # X=3, K=2, s=3 reaches 8; SAME wants 9: a total of -1. K=1 reaches 7: -2.
        # ONNX: '/' names no rounding; downwards, -1/2 is -1: the beginning gets -1, or what is left of it, 0.
        (ONNX_11, {"kernel": 2, "auto_pad": "same_upper"}, (-1, 9)),
        (ONNX_11, {"kernel": 2, "auto_pad": "same_lower"}, (0, 9)),
        (ONNX_11, {"kernel": 1, "auto_pad": "same_upper"}, (-1, 9)),
        (ONNX_11, {"kernel": 1, "auto_pad": "same_lower"}, (-1, 9)),
        # oneDNN: C++ truncates, -1/2 is 0: pads_begin = 0, or for SAME_LOWER pads_end = 0 and pads_begin = -1.
        (ONEDNN, {"kernel": 2, "auto_pad": "same_upper"}, (0, 9)),
        (ONEDNN, {"kernel": 2, "auto_pad": "same_lower"}, (-1, 9)),
        (ONEDNN, {"kernel": 1, "auto_pad": "same_upper"}, (-1, 9)),
        (ONEDNN, {"kernel": 2, "auto_pad": "same_upper", "output_padding": 1}, (0, 10)),
        # output_shape 11 from 8: -3, halved downwards -2.
        (ONNX_11, {"kernel": 2, "output_shape": 11}, (-1, 11)),
        (ONNX_11, {"kernel": 2, "output_shape": 11, "auto_pad": "valid"}, (-1, 11)),
        (ONNX_11, {"kernel": 2, "output_shape": 11, "auto_pad": "same_upper"}, (-2, 11)),
        (ONNX_11, {"kernel": 2, "output_shape": 11, "auto_pad": "same_lower"}, (-1, 11)),
        (ONNX_1, {"kernel": 2, "output_shape": 11}, (-2, 11)),
        (ONNX_1, {"kernel": 2, "output_shape": 11, "auto_pad": "same_upper"}, (-1, 11)),
        (ONNX_1, {"kernel": 2, "output_shape": 11, "auto_pad": "same_lower"}, (-2, 11)),
        (ONNX_11, {"kernel": 2, "output_shape": 11, "output_padding": 2}, (0, 11)),
        # OpenVINO, oneDNN's specification: '//' rounds down.
        *[
            row
            for dialect in BACKPROP
            for row in (
                (dialect, {"kernel": 2, "output_shape": 11}, (-2, 11)),
                (dialect, {"kernel": 2, "output_shape": 11, "auto_pad": "same_lower"}, (-2, 11)),
                (dialect, {"kernel": 2, "output_shape": 11, "auto_pad": "same_upper"}, (-1, 11)),
                (dialect, {"kernel": 2, "output_shape": 10, "auto_pad": "valid"}, (-1, 10)),
            )
        ],
    ],
)
def test_negative_totals(dialect: str, attributes: dict[str, int | str], expected: Place) -> None:
    """A negative total makes the output larger than what is reached; each text's division says on which side."""
    kernel = attributes["kernel"]
    assert isinstance(kernel, int)
    rest = {name: value for name, value in attributes.items() if name != "kernel"}
    assert place(dialect, 3, kernel, strides=3, **rest) == expected


# The answers by themselves, one question at a time.


def answered(
    signature: Signature,
    *,
    same: Same = Same.INPUT_TIMES_STRIDE,
    sized: Sized = Sized.RECOMPUTED,
    odd: Odd = Odd.END,
    negative: Negative = Negative.FLOOR,
) -> Geometry | Violation:
    """Return the geometry under rules that give the same answer to all questions of a kind."""
    kinds = {"same": same, "sized": sized, "odd": odd, "negative": negative}
    return resolve(signature, Rules(**{f.name: kinds[f.name.split("_")[0]] for f in fields(Rules)}))


@pytest.mark.parametrize("total", range(-4, 0))
@pytest.mark.parametrize("odd", Odd)
def test_answers_to_a_negative_total(total: int, odd: Odd) -> None:
    """Floor, truncate, append, shrink and refuse are five different answers to the same negative total."""
    signature = written((3,), (3,), Attributes(strides=(2,), output_shape=(7 - total,)))
    by_answer = {answer: answered(signature, odd=odd, negative=answer) for answer in Negative}
    begins = {answer: found.pads_begin[0] for answer, found in by_answer.items() if isinstance(found, Geometry)}
    down, zero = total // 2, -(-total // 2)
    share = {Odd.END: (down, zero), Odd.BEGIN: (total - down, total - zero)}[odd]
    assert begins == {Negative.FLOOR: share[0], Negative.TRUNCATE: share[1], Negative.APPEND: 0, Negative.SHRINK: 0}
    sizes = {answer: found.output[0] for answer, found in by_answer.items() if isinstance(found, Geometry)}
    assert sizes == dict.fromkeys(begins, 7 - total) | {Negative.SHRINK: 7}
    refused = by_answer[Negative.REFUSE]
    assert isinstance(refused, Violation)
    assert refused.constraint == "total-padding-non-negative"
    assert refused.got == f"a total padding of {total}"


@pytest.mark.parametrize("mode", ["explicit", "valid"])
def test_kept_pads_let_output_shape_set_the_size_alone(mode: str) -> None:
    """Kept: the beginning is the written one, none under VALID, and the size is output_shape, cropped or grown."""
    for size in (2, 7, 12):
        found = answered(
            written((3,), (3,), Attributes(strides=(2,), auto_pad=mode, pads_begin=(2,), output_shape=(size,))),
            sized=Sized.KEPT,
        )
        assert isinstance(found, Geometry)
        assert (found.pads_begin, found.output) == (((2,) if mode == "explicit" else (0,)), (size,))


def test_kept_pads_do_not_reach_same() -> None:
    """SAME_* beside output_shape distributes in every reading: auto_pad 'defines how to distribute padding'."""
    signature = written((3,), (3,), Attributes(strides=(2,), auto_pad="same_upper", output_shape=(5,)))
    assert answered(signature, sized=Sized.KEPT) == answered(signature, sized=Sized.RECOMPUTED)


def test_shrink_keeps_output_padding() -> None:
    """Shrink: the output has full + output_padding, nothing cropped."""
    signature = written((3,), (1,), Attributes(strides=(4,), auto_pad="same_upper", output_padding=(2,)))
    found = answered(signature, negative=Negative.SHRINK)
    assert isinstance(found, Geometry)
    assert (found.pads_begin, found.output) == ((0,), (11,))


# Sizes that are zero, and sizes below.


@pytest.mark.parametrize(("spatial", "kernel", "full"), [(0, 3, 1), (3, 0, 4), (1, 0, 0), (0, 0, -2)])
def test_the_equation_is_taken_at_its_word_for_sizes_of_zero(spatial: int, kernel: int, full: int) -> None:
    """(X-1)*s + (K-1)*d + 1 also where X or K is 0, since no text says otherwise; only the sizes follow from it."""
    assert reach(spatial, kernel, 2, 1) == full
    assert place(ONNX_11, spatial, kernel, strides=2, output_padding=2) == (0, full + 2)
    assert place(ONNX_11, spatial, kernel, strides=2, output_shape=4)[1] == 4
    assert place(ONNX_11, spatial, kernel, strides=2, auto_pad="same_upper")[1] == spatial * 2


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_size_below_zero_is_no_geometry(dialect: str) -> None:
    """Pads that take more than everything leave no output, and the size that came out is told."""
    found = resolve(
        written((4, 3), (3, 3), Attributes(strides=(2, 2), pads_begin=(0, 5), pads_end=(0, 4))), DIALECTS[dialect].rules
    )
    assert found == Violation("output-size-non-negative", "output", "must have no size below 0", "-2")


def test_the_first_axis_without_an_answer_speaks() -> None:
    """A geometry needs an answer on every axis, the last one included."""
    signature = written((3, 3), (3, 3), Attributes(strides=(2, 2), output_shape=(6, 9)))
    found = answered(signature, negative=Negative.REFUSE)
    assert isinstance(found, Violation)
    assert found.got == "a total padding of -2"


def test_what_is_not_written_is_neutral() -> None:
    """Strides and dilations default to 1, pads and output_padding to 0, groups to 1 and the mode to explicit."""
    found = resolve(written((4, 5), (3, 2)), DIALECTS[ONNX_22].rules)
    assert found == Geometry((4, 5), (3, 2), (1, 1), (1, 1), (0, 0), (6, 6), 1)


def test_axes_are_independent() -> None:
    """Each axis has its own sizes, strides and answers; none takes its neighbour's."""
    found = resolve(
        written(
            (3, 5, 2),
            (4, 1, 2),
            Attributes(
                strides=(2, 3, 1), dilations=(1, 4, 3), auto_pad="same_lower", output_padding=(1, 0, 0), groups=2
            ),
        ),
        DIALECTS[ONNX_11].rules,
    )
    # Totals: 8 + 1 - 6 = 3; 13 - 15 = -2; 5 - 2 = 3.
    assert found == Geometry((3, 5, 2), (4, 1, 2), (2, 3, 1), (1, 4, 3), (2, -1, 2), (6, 15, 2), 2)
    assert isinstance(found, Geometry)
    assert found.full == (8, 13, 5)
    assert found.pads_end == (0, -1, 1)


# Properties.


@given(signatures(0), st.sampled_from(sorted(DIALECTS)))
@examples(300)
def test_what_is_cropped_and_what_is_left_make_up_what_is_reached(signature: Signature, dialect: str) -> None:
    """pads_begin + output + pads_end is full on every axis, and full is the equation without pads."""
    found = resolve(signature, DIALECTS[dialect].rules)
    if isinstance(found, Violation):
        return
    parts = zip(found.pads_begin, found.output, found.pads_end, found.full, strict=True)
    assert all(begin + size + end == full for begin, size, end, full in parts)
    spread = zip(found.spatial, found.kernel, found.strides, found.dilations, found.full, strict=True)
    assert all(full == (x - 1) * s + (k - 1) * d + 1 for x, k, s, d, full in spread)


def by_the_text(dialect: str, signature: Signature, axis: int) -> Place:
    """Return (pads_begin, output) of an axis, transcribed line by line from each text's own formulas."""
    x, k = signature.spatial[axis], signature.kernel[axis]
    s, d = signature.per_axis("strides")[axis], signature.per_axis("dilations")[axis]
    op = signature.per_axis("output_padding")[axis]
    pads = signature.per_axis("pads_begin")[axis], signature.per_axis("pads_end")[axis]
    size = None if signature.attributes.output_shape is None else signature.attributes.output_shape[axis]
    mode = signature.auto_pad
    largest = s * (x - 1) + op + ((k - 1) * d + 1)
    if dialect == ONEDNN:
        return _by_onednn(largest, mode, pads, (k - 1) * d + 1 - s)
    if size is not None:
        total = largest - size
        upper_has_the_smaller_half = dialect in {ONNX_11, ONNX_22}
        smaller = (mode == AutoPad.SAME_UPPER) == upper_has_the_smaller_half
        return (total // 2 if smaller else total - total // 2), size
    if mode == AutoPad.EXPLICIT:
        return pads[0], largest - pads[0] - pads[1]
    if mode == AutoPad.VALID or dialect in BACKPROP:
        return 0, largest
    same = x if dialect == ONNX_1 else x * s
    total = largest - same
    return (total // 2 if mode == AutoPad.SAME_UPPER else total - total // 2), same


def _by_onednn(largest: int, mode: str, pads: tuple[int, int], total: int) -> Place:
    truncated = int(total / 2)
    if mode == AutoPad.SAME_UPPER:
        pads = truncated, total - truncated
    elif mode == AutoPad.SAME_LOWER:
        pads = total - truncated, truncated
    elif mode == AutoPad.VALID:
        pads = 0, 0
    return pads[0], largest - pads[0] - pads[1]


@given(signatures(0), st.sampled_from([*ONNX, ONEDNN, *BACKPROP]))
@examples(1500)
def test_every_dialect_computes_its_own_formulas(signature: Signature, dialect: str) -> None:
    """The primary geometry is what the text's formulas give when they are carried out as they stand."""
    if dialect == ONEDNN and signature.attributes.output_shape is not None:
        return
    expected = [by_the_text(dialect, signature, axis) for axis in range(signature.rank)]
    found = resolve(signature, DIALECTS[dialect].rules)
    if isinstance(found, Violation):
        assert any(size < 0 for _, size in expected)
    else:
        assert list(zip(found.pads_begin, found.output, strict=True)) == expected
