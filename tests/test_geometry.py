"""One resolver gives every dialect's geometry: cell by cell as the texts have it, and as a whole."""

from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import BACKPROP, ONEDNN, ONNX, examples, signatures, written
from tconv.dialects import DIALECTS
from tconv.dialects.geometry import Geometry, resolve
from tconv.dialects.rules import Negative, Odd, Rules, Same, Sized
from tconv.errors import Violation
from tconv.vocabulary import Attributes, AutoPad, Signature

ONNX_1, ONNX_11, ONNX_22 = ONNX

Place = tuple[int, int]


# The answers by themselves, one question at a time. X=3, K=3, s=2 reaches (3-1)*2 + (3-1)*1 + 1 = 7.


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


def test_shrink_keeps_output_padding() -> None:
    signature = written((3,), (1,), Attributes(strides=(4,), auto_pad="same_upper", output_padding=(2,)))
    found = answered(signature, negative=Negative.SHRINK)
    assert isinstance(found, Geometry)
    assert (found.pads_begin, found.output) == ((0,), (11,))


# Properties.


@given(signatures(0), st.sampled_from(sorted(DIALECTS)))
@examples(300)
def test_what_is_cropped_and_what_is_left_make_up_what_is_reached(signature: Signature, dialect: str) -> None:
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
    if dialect == ONEDNN and signature.attributes.output_shape is not None:
        return
    expected = [by_the_text(dialect, signature, axis) for axis in range(signature.rank)]
    found = resolve(signature, DIALECTS[dialect].rules)
    if isinstance(found, Violation):
        assert any(size < 0 for _, size in expected)
    else:
        assert list(zip(found.pads_begin, found.output, strict=True)) == expected
