"""Measure ports between runtimes: for how many random calls does the target give the source's output?

At least half of the calls have SAME, output_shape, asymmetric pads or a stride above the kernel. For each pair of
runtimes each call is run on the source, ported, and run on the target. Both compute on integers, so no other geometry
gives their outputs. Four counts are printed: calls with equal outputs, calls that the source does not run, calls that
cannot be written, and calls that are written but not right. The last one must be 0.

Run `python bench/ports.py [--count 200] [--seed 49] [--small] [--json FILE] [--against FILE]`. At the small size, ten
calls of the first pair, the exit code is 1 if a written call is not right.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from random import Random
from typing import TYPE_CHECKING

from command import run
from figures import Figure, Findings
from tconv.backends import shipped
from tconv.cases.case import Case, Operand
from tconv.dialects import DIALECTS
from tconv.errors import Invalid
from tconv.execution.asking import Asking
from tconv.expectation.expected import Values, expect
from tconv.porting.between_runtimes import Asked
from tconv.porting.port import ported
from tconv.porting.runtime import Runtime
from tconv.vocabulary import Attributes, DType

if TYPE_CHECKING:
    from tconv.dialects import Dialect

PAIRS = (
    ("onnxruntime", "openvino-onnx"),
    ("onnxruntime", "openvino"),
    ("onnxruntime", "torch"),
    ("openvino", "onnxruntime"),
    ("tract", "onnxruntime"),
)


def drawn(random: Random, number: int) -> Case:
    """Return a random call of two spatial axes."""
    spatial, kernel, strides = ([random.randint(low, high) for _ in "xy"] for low, high in ((2, 6), (1, 4), (1, 4)))
    given: dict[str, object] = {"strides": tuple(strides)}
    reach = [(x - 1) * s + k for x, k, s in zip(spatial, kernel, strides, strict=True)]
    match random.choice(["plain", "asymmetric", "same", "sized", "both", "added"]):
        case "asymmetric":
            given |= {"pads_begin": tuple(random.randint(0, k - 1) for k in kernel), "pads_end": (0, 0)}
        case "same":
            given |= {"auto_pad": random.choice(["same_upper", "same_lower"])}
        case "sized":
            given |= {
                "output_shape": tuple(size - random.randint(0, k - 1) for size, k in zip(reach, kernel, strict=True))
            }
        case "both":
            given |= {"auto_pad": random.choice(["same_upper", "same_lower"])}
            given |= {"output_shape": tuple(x * s for x, s in zip(spatial, strides, strict=True))}
        case "added":
            given |= {"output_padding": tuple(random.randint(0, s - 1) for s in strides)}
    groups = random.choice([1, 1, 2])
    given |= {"groups": groups} if groups > 1 else {}
    x, w = Operand((1, 2 * groups, *spatial), DType.F32), Operand((2 * groups, 2, *kernel), DType.F32)
    return Case(f"call-{number}", Attributes(**given), x, w)  # type: ignore[arg-type]


def _dialects(name: str) -> tuple[Dialect, Dialect]:
    """Return the first dialect of a backend, and the dialect for calls with groups."""
    backend = shipped(name)
    assert backend is not None
    own = [DIALECTS[each] for each in backend.DIALECTS]
    return own[0], next((each for each in own if "Group" in each.name), own[0])


def _is_hard(case: Case) -> bool:
    of = case.attributes
    same = of.auto_pad in {"same_upper", "same_lower"}
    return same or of.output_shape is not None or of.pads_begin != of.pads_end


def measured(arguments: argparse.Namespace) -> Findings:
    """Return the counts of each pair."""
    figures: dict[str, Figure] = {}
    count, pairs = (10, PAIRS[:1]) if arguments.small else (arguments.count, PAIRS)
    for names in pairs:
        ends = [Asked(Runtime(Asking(name), runs=True)) for name in names]
        (source, grouped), (target, _) = map(_dialects, names)
        random, counts = Random(arguments.seed), Counter[str]()  # noqa: S311 - no secret
        for number in range(count):
            case = drawn(random, number)
            own = grouped if case.attributes.groups else source
            expected = expect(case, own)
            counts["disputed, sized, or padded on one side"] += _is_hard(case)
            followed = ends[0].gives(case, own)
            if not followed or isinstance(followed, str):
                counts["source does not run it"] += 1
                continue
            readings = {candidate.geometry for candidate in expected.candidates} if isinstance(expected, Values) else ()
            counts["source gives what no reading gives"] += followed not in readings
            try:
                port = ported(case, own, target, followed=followed, accepts=ends[1].accepts)
            except Invalid:
                counts["invalid in the source"] += 1
                continue
            if port.written is None:
                counts["nothing is written"] += 1
                continue
            seen = ends[1].gives(port.written.case, port.target)
            right = seen == port.written.values.primary.geometry
            counts["proven" if right else "written, and not right"] += 1
            counts["of these by a pad or a crop"] += right and not port.written.complete
        for end in ends:
            end.runtime.close()
        for what in ("disputed, sized, or padded on one side", "proven", "of these by a pad or a crop",
                     "source gives what no reading gives", "source does not run it", "invalid in the source",
                     "nothing is written", "written, and not right"):  # fmt: skip
            band = (0.0, 0.0) if what == "written, and not right" else None
            figures[f"{names[0]} to {names[1]}: {what}"] = Figure.of([counts[what]], "calls", band)
    return Findings(figures)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="calls of each pair")
    parser.add_argument("--seed", type=int, default=49, help="of the calls")
    sys.exit(run("ports", measured, parser))
