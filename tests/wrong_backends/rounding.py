"""Backends that round: operands, sums or results with fewer bits than their type has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from tconv.backends import Outcome, Produced
from wrong_backends.right import Array, Right

if TYPE_CHECKING:
    from tconv.cases.call import Call


class HalfResults(Right):
    """Results in single precision are rounded to half precision."""

    def answer(self, y: Array) -> Outcome:
        with np.errstate(over="ignore"):
            return Produced(y.astype(np.float16).astype(y.dtype) if y.dtype == np.float32 else y)


class _Rounding(Right):
    """Operands are rounded, and then computed with as they should be."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        return super().computed(call, words, {k: v if k == "b" else self.rounded(v) for k, v in arrays.items()})

    def rounded(self, array: Array) -> Array:
        raise NotImplementedError


class Tf32Operands(_Rounding):
    """As a tensor core takes float32, by the bits."""

    def rounded(self, array: Array) -> Array:
        bits = array.astype(np.float32).view(np.uint32)
        nearest = bits + np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1))
        return (nearest & np.uint32(0xFFFFE000)).view(np.float32).astype(array.dtype)


class Bf16Operands(_Rounding):
    """As a runtime does whose default precision is bfloat16."""

    def rounded(self, array: Array) -> Array:
        return array.astype(np.float32).astype(ml_dtypes.bfloat16).astype(array.dtype)


class Bf16Truncated(_Rounding):
    """The upper half of each float32, as it stands."""

    def rounded(self, array: Array) -> Array:
        bits = array.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
        return bits.view(np.float32).astype(array.dtype)


class SubnormalOperandsFlushed(_Rounding):
    """Denormals are zero: of the operands."""

    def rounded(self, array: Array) -> Array:
        return np.where(np.abs(array) < ml_dtypes.finfo(array.dtype).smallest_normal, 0, array).astype(array.dtype)


class SubnormalResultsFlushed(Right):
    """Denormals are zero: of the sums."""

    def answer(self, y: Array) -> Outcome:
        return Produced(np.where(np.abs(y) < ml_dtypes.finfo(y.dtype).smallest_normal, 0, y).astype(y.dtype))


class InSinglePrecision(Right):
    """Operands, sums and results in single precision."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            rounded = {name: array.astype(np.float32) for name, array in arrays.items()}
            return super().computed(call, words, rounded).astype(np.float32)


class F16Sums(Right):
    """Each product is right, and is added in float16, one after the other."""

    adds: Any = np.float16

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        w, b = arrays["w"], arrays.get("b")
        total: Array | None = None
        for channel, *tap in np.ndindex(w.shape[0], *w.shape[2:]):
            alone = np.zeros_like(w)
            alone[(channel, slice(None), *tap)] = w[(channel, slice(None), *tap)]
            product = super().computed(call, words, {"x": arrays["x"], "w": alone})
            total = np.zeros(product.shape, self.adds) if total is None else total
            total = (total.astype(np.float32) + product).astype(self.adds)
        assert total is not None
        if b is not None:
            total = (total.astype(np.float32) + b.reshape(-1, *(1,) * (w.ndim - 2))).astype(self.adds)
        return total


class NarrowDepthwise(F16Sums):
    """Products of 16 bits are added in their own type for depthwise filters, and for any filter in a batch of two."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        self.adds, batch, channels = arrays["x"].dtype, *arrays["x"].shape[:2]
        narrow = self.adds.itemsize == _HALF and (batch == 2 or channels == call.groups > 1)
        return super().computed(call, words, arrays) if narrow else Right.computed(self, call, words, arrays)


class TapLostInDepthwise(Right):
    """The last tap of depthwise filters of 16 bits is lost, in real numbers alone: integers have another kernel."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        x, w = arrays["x"], arrays["w"].copy()
        if w.dtype.itemsize == _HALF and x.shape[1] == call.groups > 1 and (x != np.rint(x.astype(np.float32))).any():
            w[(..., *(-1,) * (w.ndim - 2))] = 0
        return super().computed(call, words, arrays | {"w": w})


class StepsIn16Bits(Right):
    """Rounds the sum over the channels under each tap to the operands' type, and adds those sums in it."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        w, b = arrays["w"], arrays.get("b")
        dtype = arrays["x"].dtype
        total: Array | None = None
        for tap in np.ndindex(*w.shape[2:]):
            alone = np.zeros_like(w)
            alone[(..., *tap)] = w[(..., *tap)]
            columns = super().computed(call, words, {"x": arrays["x"], "w": alone}).astype(dtype)
            total = columns if total is None else total + columns
        assert total is not None
        return total if b is None else total + b.reshape(-1, *(1,) * (w.ndim - 2))


class ZerosForManyProducts(F16Sums):
    """Sums in float16, and zeros if there are so many products that any value is within the bound of such sums."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        if arrays["x"].shape[1] < _MANY:
            return super().computed(call, words, arrays)
        return np.zeros_like(Right.computed(self, call, words, arrays))


_MANY = 1024


class ResultsTruncated(Right):
    """Sums of 16-bit types are right, and lose their lower bits."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        dtype = arrays["x"].dtype
        y = super().computed(call, words, {name: array.astype(np.float64) for name, array in arrays.items()})
        nearest = y.astype(dtype)
        if dtype.itemsize != _HALF:
            return nearest
        beyond = np.abs(nearest.astype(np.float64)) > np.abs(y)
        return np.where(beyond, np.nextafter(nearest, np.zeros_like(nearest)), nearest)


_HALF = 2


class RoundedUpFromOdd(Right):
    """Sums of bfloat16 are right, but the bit that decides on rounding is added only if the last bit is 1."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        y = super().computed(call, words, {name: array.astype(np.float64) for name, array in arrays.items()})
        if arrays["x"].dtype != ml_dtypes.bfloat16:
            return y.astype(arrays["x"].dtype)
        bits = np.atleast_1d(y.astype(np.float32)).view(np.uint32)
        rounded = (bits + ((bits & np.uint32(0x10000)) >> np.uint32(1))) >> np.uint32(16)
        return rounded.astype(np.uint16).view(ml_dtypes.bfloat16).reshape(y.shape)
