"""Whether a conforming runtime is ever blamed for the rounding of real numbers: it must not be.

Cases of real numbers are drawn over all attributes, each asked with several seeds of its data, and run on runtimes that
compute as they should. A value that the bound does not allow, and that no waiver knows of, is a false alarm, or a
deviation that nobody has found yet: it is printed, and the exit code is 1. Refusals are counted, and blame nobody.

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
from tconv.execution.pool import Pool
from tconv.execution.worker import Assignment
from tconv.gate.status import Status, judged
from tconv.gate.waivers import chosen
from tconv.investigation.drawing import drawn
from tconv.reports.phrases import summary
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.cases.case import Case, Operand

SEEDS = 5
"""Data sets of each drawn case: drawing costs more than asking."""
BATCH = 500
TIMEOUT = 60.0


def cases(seed: int, dialect: str) -> Iterator[Case]:
    """Yield cases of real numbers, each with several data sets."""
    for case in drawn(seed, dialect, broken=False, real=True):
        for more in range(SEEDS):
            yield replace(
                case,
                id=f"{case.id}-{more}",
                x=_reseeded(case.x, more),
                w=_reseeded(case.w, more),
                b=None if case.b is None else _reseeded(case.b, more),
            )


def _reseeded(operand: Operand, more: int) -> Operand:
    return replace(operand, seed=operand.seed + 1000 * more)


def main() -> int:
    """Run, print, return the exit code."""
    parser = argparse.ArgumentParser(description="Whether a conforming runtime is blamed for rounding.")
    parser.add_argument("backends", nargs="*", metavar="NAME", default=["onnxruntime", "torch"], help="whom to ask")
    parser.add_argument("--examples", type=int, default=100_000, help="how many cases each is asked")
    parser.add_argument("--seed", type=int, default=0, help="another one draws other cases")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    asked = parser.parse_args()
    if asked.examples < 1:
        parser.error("--examples must be at least 1")
    try:
        return max([_asked(name, asked.examples, asked.seed, asked.jobs) for name in asked.backends])
    except TconvError as error:
        parser.error(str(error))


def _asked(name: str, examples: int, seed: int, jobs: int) -> int:
    started, counts, alarms = perf_counter(), Counter[str](), 0
    file = chosen(None, name)
    with Pool(Assignment(name, None, None, ""), jobs, TIMEOUT) as pool:
        left = islice(cases(seed, pool.dialect_name), examples)
        while batch := list(islice(left, BATCH)):
            records = pool.records(batch)
            for case in batch:
                record = records[case.id]
                verdict = record.verdict
                status = judged(record, case.facts, file, pool.backend.version).status
                counts[_what(verdict, status)] += 1
                if isinstance(verdict, ver.Agreed | ver.Disputed):
                    counts.update(f"noted {note}" for note in verdict.notes)
                if status is Status.FAILED and not isinstance(verdict, ver.RefusedValid):
                    alarms += 1
                    print(f"ALARM {case.id}: {summary(record)}: {flow(settings(case))}")
    said = ", ".join(f"{what} {count:,}" for what, count in sorted(counts.items()))
    print(f"{name}: {examples:,} cases in {perf_counter() - started:.0f} s: {said}; false alarms {alarms}")
    return int(alarms > 0)


def _what(verdict: ver.Verdict, status: Status) -> str:
    if isinstance(verdict, ver.Agreed | ver.Disputed):
        return f"judged by {verdict.rule}"
    return f"{verdict.kind}, {status}"


if __name__ == "__main__":
    sys.exit(main())
