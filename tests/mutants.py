"""Misreadings run as if they were backends: which cases notice each of them.

Those of `UNLISTED` are in no catalogue, as a run learns them: formulas, and relations of the wrong elements under a
condition. The corpus has to notice them too.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from tconv.backends import outcome as out
from tconv.diagnosis.misreadings import misreadings_of
from tconv.diagnosis.misreadings.misreading import (
    CallOtherwise,
    MisreadCall,
    Misreading,
    along_channels,
    in_geometry,
    in_output,
    in_result,
)
from tconv.expectation.problem import Problem
from tconv.investigation.further_cases import misread_output
from tconv.verdict import kinds as ver
from tconv.verdict.judge import judge
from tconv.vocabulary import AutoPad, DType

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Ints, Signature


def _summed(change: Callable[..., tuple[Ints, Ints]], *modes: AutoPad) -> CallOtherwise:
    """Return a change of the begin and the sizes of an output, in some padding modes without output_shape."""

    def changed(geometry: Geometry, signature: Signature) -> Geometry:
        if signature.attributes.output_shape is not None or signature.auto_pad not in modes:
            return geometry
        lists = (signature.per_axis(name) for name in ("pads_begin", "pads_end", "output_padding"))
        numbers = zip(geometry.pads_begin, geometry.output, geometry.strides, *lists, strict=True)
        axes = [change(*axis) for axis in numbers]
        begin, output = (tuple(axis[at] for axis in axes) for at in (0, 1))
        return replace(geometry, pads_begin=begin, output=output)

    return in_geometry(changed)


def _not_spread(geometry: Geometry, _: Signature) -> Geometry:
    dense = replace(geometry, strides=(1,) * len(geometry.strides))
    # If pads crop all elements, the output is zeros, which many mistakes give.
    return dense if all(begin < size for begin, size in zip(dense.pads_begin, dense.full, strict=True)) else geometry


def _begin_within_the_kernel(geometry: Geometry, _: Signature) -> Geometry:
    most = ((k - 1) * d for k, d in zip(geometry.kernel, geometry.dilations, strict=True))
    return replace(geometry, pads_begin=tuple(map(min, geometry.pads_begin, most)))


def _bias_in_the_first_item(call: MisreadCall, _: Signature) -> MisreadCall | None:
    bias, rest = call.operands.get("b"), {role: array for role, array in call.operands.items() if role != "b"}
    if bias is None or len(call.operands["x"]) == 1:
        return None
    add = along_channels(bias, call.operands["x"].ndim)
    return replace(call, operands=rest, finish=lambda y: np.concatenate([y[:1] + add, y[1:]]))


UNLISTED = (
    # apache/mxnet#20639
    Misreading(
        "pads-added",
        "pads_begin and pads_end add empty points to the output, in place of cropping it",
        _summed(lambda _, size, _s, p, q, _op: (-p, size + 2 * (p + q)), AutoPad.EXPLICIT),
    ),
    # Samsung/TICO#420; a point of the data is a stride of the output
    Misreading(
        "pads-on-the-data",
        "the data is padded by pads_begin and pads_end, and the output is not cropped",
        _summed(lambda _, size, s, p, q, _op: (-p * s, size + (p + q) * (1 + s)), AutoPad.EXPLICIT),
    ),
    # llvm/torch-mlir#4650
    Misreading(
        "crop-split-in-halves",
        "what is cropped, pads_begin + pads_end - output_padding, is split in halves between begin and end",
        _summed(lambda _, size, _s, p, q, op: ((p + q - op) // 2, size), AutoPad.EXPLICIT),
    ),
    # apple/coreai-torch#57
    Misreading(
        "output-padding-times-stride",
        "the output is longer at its end by output_padding * stride, and not by output_padding",
        _summed(lambda begin, size, s, _p, _q, op: (begin, size + op * (s - 1)), AutoPad.EXPLICIT, AutoPad.VALID),
    ),
    # pytorch/pytorch#82711
    Misreading(
        "strides-in-the-size-alone",
        "the output has the size that is expected, and values are placed in it as if every stride was 1",
        in_geometry(_not_spread),
    ),
    Misreading(
        "pads-begin-within-the-kernel",
        "the output begins (kernel - 1) * dilation points in where pads_begin is more than that",
        in_geometry(_begin_within_the_kernel),
    ),
    Misreading(
        "bias-in-the-first-item-alone",
        "the bias is added to the first item of the batch alone",
        in_result(_bias_in_the_first_item),
    ),
    # ggml-org/ggml#1448
    Misreading(
        "batch-after-the-first-is-zero",
        "items of the batch after the first stay zero",
        in_output(lambda y, _: np.concatenate([y[:1], np.zeros_like(y[1:])])),
    ),
    Misreading(
        "channels-beyond-four-are-zero",
        "channels beyond the last full block of 4 stay zero",
        in_output(lambda y, _: y * along_channels(np.arange(y.shape[1]) < max(y.shape[1] // 4 * 4, 4), y.ndim)),
    ),
)


@dataclass(frozen=True, slots=True)
class Noticed:
    """The cases that a misreading changes, and those of them whose verdict is a deviation then."""

    affected: set[str] = field(default_factory=set)
    killed: set[str] = field(default_factory=set)


def noticed(
    cases: Iterable[Case], dialect: Dialect, names: Container[str] | None = None, *, once: bool = False
) -> dict[str, Noticed]:
    """Return what cases notice of each misreading of a dialect, by its name.

    Args:
        cases: the cases, in the order in which they are asked.
        dialect: in whose words.
        names: the misreadings; None for all.
        once: whether no further case is asked of a misreading that one has noticed.
    """
    playable = [misreading for misreading in (*misreadings_of(dialect), *UNLISTED) if misreading.playable]
    misreadings = [misreading for misreading in playable if names is None or misreading.name in names]
    found = {misreading.name: Noticed() for misreading in misreadings}
    seen: dict[tuple[object, ...], dict[str, bool]] = {}
    for case in cases:
        problem = Problem(case, dialect)
        if problem.values is None:
            continue
        # The reference does not depend on layouts and presentation.
        written = [(name, value) for name, value in case.attributes.given().items() if not name.endswith("_format")]
        key = (problem.signature.attributes.groups, problem.values, case.x, case.w, case.b, tuple(written))
        if key not in seen:
            asked = [misreading for misreading in misreadings if not (once and found[misreading.name].killed)]
            outputs = {misreading.name: misread_output(problem, misreading) for misreading in asked}
            seen[key] = {
                name: not isinstance(judge(problem, out.Produced(array), DType.F32), ver.Allowed)
                for name, array in outputs.items()
                if array is not None and not np.array_equal(array, problem.output, equal_nan=True)
            }
        for name, kills in seen[key].items():
            found[name].affected.add(case.id)
            if kills:
                found[name].killed.add(case.id)
    return found
