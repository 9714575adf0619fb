"""Measure how many wrong int8 kernels are found in the gate tier and named, and whether a conforming one ever fails.

A wrong kernel is a misreading of a quantised operator, or of channels and taps, under a condition on the case. Only
kernels are drawn that are wrong in one of many random calls. A kernel dies if a case of the topic `quantised` fails. It
is named if the first explanation of the run has its name.

A conforming kernel adds products of quanta in integers, and makes the output from the sum in one of the ways that a
runtime may choose. It computes in f64 or f32, multiplies by a factor or divides by the output's scale, and rounds a tie
to either side. Or it dequantises its operands, and adds in f32 in any order. For quanta as types, as in TFLite's
operator, the factor may be in fixed point, and the product rounded once or twice. Half of the calls are TFLite's.

Run `python bench/wrong_int8.py [--count 60] [--seed 47] [--conforming 20000]`. The exit code is 1 if too few die or are
named, or if a conforming kernel fails.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from explaining import Played, described
from tconv.backends.outcome import Produced
from tconv.cases.context import LIMITS, Context
from tconv.corpus import Corpus
from tconv.corpus.writing import flow, settings
from tconv.diagnosis.in_context import misread
from tconv.diagnosis.misreadings import misreadings_by_name, quanta
from tconv.dialects import find_dialect
from tconv.evidence import Calls, Misreads, answer_of, explain
from tconv.expectation.problem import Problem
from tconv.expectation.reference import definition
from tconv.investigation.random_cases import drawn
from tconv.records.record import Record
from tconv.verdict import kinds as ver
from tconv.verdict.judge import judge
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.diagnosis.misreadings import Misreading
    from tconv.dialects import Dialect
    from tconv.vocabulary import Array

DIE, NAMED = 57 / 60, 50 / 60
DIALECT, TFLITE = find_dialect("onnx/ConvTranspose-22"), find_dialect("tflite/TransposeConv")
POOL = 400
"""The number of random calls; a kernel must be wrong in one of them."""
ALWAYS = 0.4
OTHERS = ("channels-beyond-four-are-zero", "last-input-channel-dropped", "bias-ignored", "last-tap-dropped")
CONDITIONS: Mapping[str, Callable[[Case], bool]] = {
    "groups": lambda case: case.facts.get("grouped") == "true" or (case.attributes.groups or 1) > 1,
    "no groups": lambda case: (case.attributes.groups or 1) == 1,
    "a scale for each channel": lambda case: case.context.filter == "int8-per-channel",
    "a bias": lambda case: case.b is not None,
    "an output of int8": lambda case: case.context.end == "int8",
    "strides above 1": lambda case: min(case.attributes.strides or (1,)) > 1,
    "a kernel above the stride": lambda case: min(case.w.shape[2:]) > max(case.attributes.strides or (1,)),
    "a plane": lambda case: len(case.x.shape) == 4,  # noqa: PLR2004 - two spatial axes
    "uneven scales": lambda case: case.context.scales == "uneven",
    "data that are fed as int8": lambda case: case.context.data == "int8-input",
}


@dataclass(frozen=True)
class Kernel:
    """A wrong kernel.

    Attributes:
        misreading: its mistake.
        where: the name of the condition; empty if it is always wrong.
    """

    misreading: Misreading
    where: str

    def __str__(self) -> str:
        return self.misreading.name + (f" with {self.where}" if self.where else "")

    def answer(self, problem: Problem) -> Array | None:
        """Return its output; None if it is right."""
        if self.where and not CONDITIONS[self.where](problem.case):
            return None
        with np.errstate(all="ignore"):
            graph = misread(self.misreading, problem)
            return None if graph is None or problem.output is None else graph.compute().astype(problem.output.dtype)


def random_calls(seed: int, count: int, dialect: Dialect = DIALECT) -> Iterator[Problem]:
    """Yield random calls whose data, filter, bias and output are quantised."""
    random = Random(f"calls {seed}")  # noqa: S311 - random but repeatable
    for case in drawn(seed, dialect, contexts=True):
        is_unsigned = random.random() < 1 / 4
        data = "uint8" if is_unsigned else random.choice(("int8", "int8-zero-point", "int8-input"))
        filters = "uint8" if is_unsigned else random.choice(("int8", "int8-per-channel"))
        values = random.choice(("small", "full-range", "zero-channel", "zero-points-at-ends"))
        scales = random.choice(("simple", "powers-of-two", "uneven"))
        levels: Any = {"data": data, "filter": filters, "values": values, "scales": scales}
        levels |= {"bias": "int32" if case.b is not None else "operand", "end": "uint8" if is_unsigned else "int8"}
        problem = Problem(replace(case, context=Context(**levels)), dialect)
        if problem.surrounded is None:
            continue
        yield problem
        count -= 1
        if not count:
            return


def draw(count: int, seed: int) -> list[Kernel]:
    """Return different kernels that are wrong in one of the random calls."""
    random, pool = Random(seed), [*random_calls(seed, POOL)]  # noqa: S311 - random but repeatable
    by_name = misreadings_by_name(DIALECT)
    rows, found = [*quanta.MISREADINGS, *(by_name[name] for name in OTHERS)], dict[str, Kernel]()

    def is_wrong(kernel: Kernel, problem: Problem) -> bool:
        answer = kernel.answer(problem)
        return answer is not None and not _passes(problem, answer)

    while len(found) < count:
        where = "" if random.random() < ALWAYS else random.choice([*CONDITIONS])
        kernel = Kernel(random.choice(rows), where)
        if str(kernel) not in found and any(is_wrong(kernel, problem) for problem in pool):
            found[str(kernel)] = kernel
    return [*found.values()]


def _passes(problem: Problem, answer: Array) -> bool:
    return isinstance(judge(problem, Produced(answer), DType.F32), ver.Allowed)


@cache
def corpus() -> Corpus:
    """Return the shipped corpus."""
    return Corpus.load()


@cache
def right() -> dict[str, Record]:
    """Return the records of right answers to the cases of the topic, by id."""
    records = {}
    for case in corpus().cases("gate", ["quantised"]):
        problem = Problem(case, DIALECT)
        assert problem.output is not None
        verdict = judge(problem, Produced(problem.output), DType.F32)
        records[case.id] = Record(case.id, "played", DIALECT.name, verdict, 0.0)
    return records


def judged(kernel: Kernel) -> tuple[int, str]:
    """Return how many cases fail, and the first explanation; it is empty if it has the kernel's name."""
    played = Played()
    changed: dict[str, Record] = {}
    for case in corpus().cases("gate", ["quantised"]):
        answer = kernel.answer(Problem(case, DIALECT)) if case.context else None
        if answer is not None:
            record = played.record(case, Produced(answer))
            changed |= {case.id: record} if isinstance(record.verdict, ver.WrongOutput) else {}
    if not changed:
        return 0, "it survives"
    records = {**right(), **changed}
    found = explain(Calls([answer_of(records[case]) for case in sorted(records)], corpus().find, DIALECT))
    first = found[0] if found else None
    if first is not None and isinstance(first.what, Misreads) and first.what.name.names == (kernel.misreading.name,):
        return len(changed), ""
    return len(changed), "nothing" if first is None else described(first)


def conforming(problem: Problem, random: Random) -> tuple[str, Array]:
    """Return a name for a conforming way to compute, and its output."""
    surrounded, values = problem.surrounded, problem.values
    assert surrounded is not None
    assert values is not None
    arrays = {name: array.astype(np.float64) for name, array in surrounded.arrays.items()}
    x, w = arrays["X"], arrays["W"] - arrays["w_zero_point"].reshape(-1)[0]
    if problem.case.context.data != "int8-input":
        x = np.clip(np.rint(x / arrays["x_scale"]) + arrays["x_zero_point"], *_limits(problem.case.context.data))
    total = definition(x - arrays["x_zero_point"], w, arrays.get("B"), values.primary.geometry)
    shape = (1, -1, *[1] * (x.ndim - 2))
    units = np.resize(arrays["x_scale"] * arrays["w_scale"], total.shape[1]).reshape(shape)
    others = ("once", "twice") if problem.dialect.quantised else ("f32 sums",)
    way = random.choice(("f64", "f32 factor", "f32 division", *others))
    if way == "f32 sums":
        # An order of addition: blocks of channels, added one after the other.
        x, w = (np.float32(x - arrays["x_zero_point"]) * arrays["x_scale"], w * _along(arrays["w_scale"], w.ndim))
        part_of = np.array([random.randrange(3) for _ in range(x.shape[1])]).reshape(shape)
        parts = (np.float32(definition(x * (part_of == part), w, None, values.primary.geometry)) for part in range(3))
        b = arrays["B"] * arrays["b_scale"] if "B" in arrays else np.zeros(1)
        y = np.rint((sum(parts) + np.float32(b).reshape(shape)) / np.float32(arrays["y_scale"]))
    elif way in {"once", "twice"}:
        y = _in_fixed_point(total, units / arrays["y_scale"], twice=way == "twice")
    else:
        number: Callable[[Any], Any] = np.float64 if way == "f64" else np.float32
        total, units, scale = number(total), number(units), number(arrays["y_scale"])
        scaled = total * (units / scale) if way == "f32 factor" else total * units / scale
        ties = np.abs(scaled - np.trunc(scaled)) == 1 / 2
        y = np.where(ties, scaled + random.choice((-0.5, 0.5)), np.rint(scaled))
    low, high = _limits(problem.case.context.end)
    return way, np.clip(y + arrays["y_zero_point"], low, high).astype(problem.judged.dtype)


def _along(scale: Array, rank: int) -> Array:
    """Return the scales of a filter, shaped to vary along axis 1."""
    return scale.reshape(-1, *[1] * (rank - 2)) if scale.ndim else scale


def _limits(level: str) -> tuple[int, int]:
    return LIMITS["uint8" if level == "uint8" else "int8"]


def _in_fixed_point(total: Array, factors: Array, *, twice: bool) -> Array:
    """Return sums times 31-bit factors, rounded half away from zero; if `twice`, first to a unit of the sum."""
    mantissas, exponents = np.frexp(factors)
    mantissas = np.rint(mantissas * 2.0**31) / 2.0**31
    above = np.maximum(exponents, 0)
    product = total * 2.0**above * mantissas
    product = np.floor(product + 0.5) if twice else product
    scaled = product * 2.0 ** (exponents - above)
    away: Array = np.sign(scaled) * np.floor(np.abs(scaled) + 0.5)
    return away


def alarms(count: int, seed: int, done: Counter[str]) -> Iterator[str]:
    """Yield the random calls whose conforming output is not allowed."""
    random = Random(f"ways {seed}")  # noqa: S311 - random but repeatable
    for dialect in (DIALECT, TFLITE):
        for problem in random_calls(seed, count // 2, dialect):
            way, y = conforming(problem, random)
            done[f"{dialect.name} {way}"] += 1
            verdict = judge(problem, Produced(_presented(problem, y)), DType.F32)
            if not isinstance(verdict, ver.Allowed):
                yield f"ALARM {dialect.name} {way} {flow(settings(problem.case))}: {verdict}"


def _presented(problem: Problem, y: Array) -> Array:
    return np.moveaxis(y, 1, -1) if problem.dialect.quantised else y


def _show(kernels: Sequence[Kernel]) -> tuple[int, int]:
    """Print the results of kernels; return how many die and how many are named."""
    died = named = 0
    for kernel in kernels:
        failures, first = judged(kernel)
        died, named = died + (failures > 0), named + (not first)
        print(f"{kernel}: {failures} cases fail" + (f"; first: {first}" if first else ""))
    return died, named


def main() -> int:
    """Draw, run, print; return 1 if a figure is missed."""
    parser = argparse.ArgumentParser(description="Wrong and conforming int8 kernels in the gate tier.")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=47)
    parser.add_argument("--conforming", type=int, default=20_000)
    arguments = parser.parse_args()
    started, done = perf_counter(), Counter[str]()
    died, named = _show(draw(arguments.count, arguments.seed))
    print(f"{died} of {arguments.count} wrong kernels die, {named} are named first; {perf_counter() - started:.0f} s")
    false = [*alarms(arguments.conforming, arguments.seed, done)]
    print(*false[:10], f"{dict(done)}; false alarms {len(false)}", sep="\n")
    return int(bool(false) or died < DIE * arguments.count or named < NAMED * arguments.count)


if __name__ == "__main__":
    sys.exit(main())
