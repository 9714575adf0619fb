"""The numbers of one spatial axis that a formula may be made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv.dialects.geometry import reach

if TYPE_CHECKING:
    from tconv.vocabulary import Signature

FULL = "(X-1)*s + (K-1)*d + 1"
FORWARD = "(ceil(size/s)-1)*s + (K-1)*d + 1"
"""How far a forward convolution over the output reaches whose own output has ceil(size/s) elements, as SAME_* gives."""
LENGTHS = {
    "1": 1, "X": 1, "K": 1, "s": 1, "d": 1, "op": 1, "pads_begin": 1, "pads_end": 1, "output_shape": 1, "size": 1,
    "2": 2, "X*s": 2, "X*s + op": 3, "K*d": 2, "op*s": 2, "2*pads_begin": 2, "2*pads_end": 2,
    "pads_begin*s": 2, "pads_end*s": 2, "pads_begin*d": 2, "pads_end*d": 2,
    "(X-1)*s": 2, "(K-1)*d": 2, FULL: 2,
}  # fmt: skip
"""How long each term is: by this the simplest of several formulas is chosen. Texts have the full reach; it is short."""
OTHER_AXES = {
    "pads_begin[-1-i]": 4, "pads_end[-1-i]": 4, "output_padding[-1-i]": 4, "pads[2*i]": 4, "pads[2*i+1]": 4,
}  # fmt: skip
"""Terms that are tried where those above do not do: entries of other axes."""
SPACING = {
    "strides[i]": 2, "dilations[i]": 2, "strides[0]": 3, "dilations[0]": 3, "strides[-1-i]": 4, "dilations[-1-i]": 4,
}  # fmt: skip
"""The strides and dilations as they are written, where s and d are those that the values show."""
OF_TEXT = {"size": "the text's size", "pads_begin": "the text's pads_begin"}
"""What the text itself gives for a quantity: a runtime may be off by one in all padding modes."""
LEGEND = (
    "X, K, s, d, op: an axis's input and kernel size, stride, dilation and output_padding; i: its number; s and d are "
    "those that the values show"
)


def terms(signature: Signature, axis: int, stride: int, dilation: int, size: int) -> dict[str, int]:
    """Return the numbers of an axis by the names of terms.

    Args:
        signature: the call.
        axis: the number of the spatial axis, from 0.
        stride: the answer's, which need not be the one that is written.
        dilation: the answer's.
        size: the output's.
    """
    lists = {
        name: signature.per_axis(name) for name in ("strides", "dilations", "pads_begin", "pads_end", "output_padding")
    }
    x, k, s, d = signature.spatial[axis], signature.kernel[axis], stride, dilation
    begin, end, op = (lists[name][axis] for name in ("pads_begin", "pads_end", "output_padding"))
    pads = (*lists["pads_begin"], *lists["pads_end"])
    return {
        "1": 1, "2": 2, "size": size, "X": x, "K": k, "s": s, "d": d, "op": op, "pads_begin": begin, "pads_end": end,
        "output_shape": (signature.attributes.output_shape or (0,) * signature.rank)[axis],
        "X*s": x * s, "X*s + op": x * s + op, "K*d": k * d, "op*s": op * s,
        "(X-1)*s": (x - 1) * s, "(K-1)*d": (k - 1) * d,
        FULL: reach(x, k, s, d), FORWARD: reach(-(-size // s) if s else 0, k, s, d),
        "2*pads_begin": 2 * begin, "2*pads_end": 2 * end,
        "pads_begin*s": begin * s, "pads_end*s": end * s, "pads_begin*d": begin * d, "pads_end*d": end * d,
        "pads[2*i]": pads[2 * axis], "pads[2*i+1]": pads[2 * axis + 1],
        **{f"{name}[-1-i]": entries[-1 - axis] for name, entries in lists.items()},
        **{f"{name}[{at}]": lists[name][axis if at == "i" else 0] for name in ("strides", "dilations") for at in "i0"},
    }  # fmt: skip
