"""Check that a conforming runtime never fails because real numbers are rounded.

Cases of real numbers are drawn over all attributes, each with several seeds of its data, and run on runtimes that are
known to conform. An output beyond the bound without a waiver is a false alarm, or a deviation that nobody has found
yet: it is printed, and the exit code is 1. Refusals are only counted.

Run `python bench/false_alarms.py [--examples 100000] [--seed 0] [NAME...]`.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import replace
from itertools import islice
from time import perf_counter
from typing import TYPE_CHECKING

from tconv.corpus.writing import flow, settings
from tconv.errors import TconvError
from tconv.execution.asking import Asking
from tconv.execution.pool import Pool
from tconv.gate.entries import select_active
from tconv.gate.status import Status
from tconv.gate.waivers import choose_waivers
from tconv.investigation.random_cases import drawn
from tconv.reports.phrases import summary
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.cases.case import Case, Operand
    from tconv.dialects import Dialect

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


def main() -> int:
    """Run, print, return the exit code."""
    parser = argparse.ArgumentParser(description="Whether a conforming runtime is blamed for rounding.")
    parser.add_argument("backends", nargs="*", metavar="NAME", default=["onnxruntime", "torch"], help="whom to ask")
    parser.add_argument("--examples", type=int, default=100_000, help="how many cases each is asked")
    parser.add_argument("--seed", type=int, default=0, help="another one draws other cases")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    arguments = parser.parse_args()
    if arguments.examples < 1:
        parser.error("--examples must be at least 1")
    try:
        return max(_code(name, arguments.examples, arguments.seed, arguments.jobs) for name in arguments.backends)
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
