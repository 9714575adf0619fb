"""Check that a conforming runtime never fails because real numbers are rounded.

Cases of real numbers are drawn over all attributes, each with several seeds of its data, and run on runtimes that are
known to conform. An output beyond the bound without a waiver is a false alarm, or a deviation that nobody has found
yet: it is printed, and the exit code is 1. Refusals are only counted.

Sums of many products are judged without a runtime. They are added in float32, float64, and in float32 with one last
rounding to float16 and bfloat16, in five orders. A result beyond the bound is a false alarm, and so is a note about
reduced precision: these sums have the usual precision.

Run `python bench/false_alarms.py [--examples 100000] [--sums 20000] [--seed 0] [NAME...]`.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import replace
from itertools import islice
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.case import Operand
from tconv.cases.operands import NUMPY_TYPES, make_operands
from tconv.corpus.writing import flow, settings
from tconv.dialects.geometry import Geometry
from tconv.errors import TconvError
from tconv.execution.asking import Asking
from tconv.execution.pool import Pool
from tconv.expectation.truth import Truth
from tconv.gate.entries import select_active
from tconv.gate.status import Status
from tconv.gate.waivers import choose_waivers
from tconv.investigation.random_cases import drawn
from tconv.reports.phrases import summary
from tconv.verdict import kinds as ver
from tconv.verdict.values import compare
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.cases.case import Case, Data
    from tconv.dialects import Dialect
    from tconv.vocabulary import Array

SEEDS = 5
"""The number of data sets for each drawn case: drawing a case costs more than running it."""
BATCH = 500
TIMEOUT = 60.0


def cases(seed: int, dialect: Dialect) -> Iterator[Case]:
    """Yield cases of real numbers, each with several data sets."""
    for case in drawn(seed, dialect, broken=False, real=True):
        for number in range(SEEDS):
            yield replace(
                case,
                id=f"{case.id}-{number}",
                x=_reseeded(case.x, number),
                w=_reseeded(case.w, number),
                b=None if case.b is None else _reseeded(case.b, number),
            )


def _reseeded(operand: Operand, number: int) -> Operand:
    return replace(operand, seed=operand.seed + 1000 * number)


def sums(number: int) -> Iterator[str]:
    """Yield wrong elements and notes of 32 conforming outputs with one number of products: there must be none."""
    random = np.random.default_rng(number)
    dtype, data = DTYPES[number % len(DTYPES)], DATA[number // len(DTYPES) % len(DATA)]
    count = int(np.exp(random.uniform(0, np.log(LARGEST))))
    x, w = Operand((4, count, 1), dtype, data, number), Operand((count, 8, 1), dtype, data, number)
    arrays = make_operands(x, w, None)
    truth, geometry = Truth(arrays, dtype), Geometry((1,), (1,), (1,), (1,), (0,), (1,), 1)
    working = np.float64 if dtype is DType.F64 else np.float32
    products = arrays["x"][:, None, :, 0].astype(working) * arrays["w"].T[0][None].astype(working)
    for name, order in ORDERS.items():
        comparison = compare(order(products)[..., None].astype(NUMPY_TYPES[dtype]), truth, geometry, DType.F32)
        if comparison.wrong.any() or comparison.notes:
            what = f"{comparison.wrong.sum()} wrong {comparison.notes}"
            yield f"{name} {dtype} {data} {count} products, seed {number}: {what}"


def sequential(products: Array) -> Array:
    """Add from the first to the last product, as a cumulative sum does."""
    return np.cumsum(products, axis=-1, dtype=products.dtype)[..., -1]


def pairwise(products: Array) -> Array:
    """Add neighbours, then their sums, and so on."""
    while products.shape[-1] > 1:
        odd = products[..., -1:] if products.shape[-1] % 2 else products[..., :0]
        products = np.concatenate([products[..., 0:-1:2] + products[..., 1::2], odd], axis=-1)
    return products[..., 0]


def blocked(products: Array) -> Array:
    """Add in 16 lanes, as vector instructions do, and then add the lanes."""
    padded = np.pad(products, [(0, 0), (0, 0), (0, -products.shape[-1] % LANES)])
    return sequential(sequential(padded.reshape(*padded.shape[:2], -1, LANES).swapaxes(2, 3)))


ORDERS = {
    "sequential": sequential,
    "backwards": lambda products: sequential(products[..., ::-1]),
    "pairwise": pairwise,
    "blocked": blocked,
    # The worst order for random terms: all partial sums are as large as possible.
    "descending": lambda products: sequential(np.sort(products, axis=-1)[..., ::-1]),
}
LANES = 16
LARGEST = 20_000
DTYPES = (DType.F32, DType.F16, DType.BF16, DType.F64)
DATA: tuple[Data, ...] = ("normal", "wide", "wide-full")


def _of_sums(examples: int, seed: int) -> int:
    """Judge sums without a runtime, print the result, return the exit code."""
    started, alarms = perf_counter(), 0
    outputs = 0
    for number in range(seed, seed + -(-examples // len(ORDERS))):
        outputs += len(ORDERS)
        for alarm in sums(number):
            alarms += 1
            print(f"ALARM {alarm}")
    print(f"sums: {outputs:,} outputs in {perf_counter() - started:.0f} s; false alarms {alarms}")
    return int(alarms > 0)


def main() -> int:
    """Run, print, return the exit code."""
    parser = argparse.ArgumentParser(description="Whether a conforming runtime is blamed for rounding.")
    parser.add_argument("backends", nargs="*", metavar="NAME", default=["onnxruntime", "torch"], help="whom to ask")
    parser.add_argument("--examples", type=int, default=100_000, help="how many cases each is asked")
    parser.add_argument("--sums", type=int, default=20_000, help="how many outputs of sums are judged")
    parser.add_argument("--seed", type=int, default=0, help="another one draws other cases")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    arguments = parser.parse_args()
    if arguments.examples < 1:
        parser.error("--examples must be at least 1")
    try:
        codes = [_of_sums(arguments.sums, arguments.seed)] if arguments.sums else [0]
        codes += [_code(name, arguments.examples, arguments.seed, arguments.jobs) for name in arguments.backends]
        return max(codes)
    except TconvError as error:
        parser.error(str(error))


def _code(name: str, examples: int, seed: int, jobs: int) -> int:
    """Run a backend, print the result, return its exit code."""
    started, counts, alarms = perf_counter(), Counter[str](), 0
    waivers = choose_waivers(None, name)
    with Pool(Asking(name, timeout=TIMEOUT), jobs) as pool:
        remaining = islice(cases(seed, pool.dialect), examples)
        while batch := list(islice(remaining, BATCH)):
            records = pool.records(batch)
            for case in batch:
                record = records[case.id]
                verdict = record.verdict
                status = select_active(waivers, record.dialect, pool.backend).assign_status(record, case.facts).status
                counts[_kind(verdict, status)] += 1
                if isinstance(verdict, ver.Agreed | ver.Disputed):
                    counts.update(f"noted {note}" for note in verdict.notes)
                if status is Status.FAILED and not isinstance(verdict, ver.RefusedValid):
                    alarms += 1
                    print(f"ALARM {case.id}: {summary(record)}: {flow(settings(case))}")
    totals = ", ".join(f"{kind} {count:,}" for kind, count in sorted(counts.items()))
    print(f"{name}: {examples:,} cases in {perf_counter() - started:.0f} s: {totals}; false alarms {alarms}")
    return int(alarms > 0)


def _kind(verdict: ver.Verdict, status: Status) -> str:
    if isinstance(verdict, ver.Agreed | ver.Disputed):
        return f"judged by {verdict.rule}"
    return f"{verdict.kind}, {status}"


if __name__ == "__main__":
    sys.exit(main())
