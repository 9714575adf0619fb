"""What a case costs on each backend, as a multiple of the time that the backend itself takes.

One worker runs the smoke tier as `tconv run -j 1` does. The floor is what passes in the backend, from its records; what
is on top is expectation, operands, judgement, record and the way between the processes. What a death costs, with the
start of another worker, is left out: it is the price of the backend.

Run `python bench/backends.py [NAME...]`.
"""

from __future__ import annotations

import argparse
from time import perf_counter

from tconv.backends import names
from tconv.corpus import Corpus
from tconv.errors import BackendMissing
from tconv.execution.pool import Pool
from tconv.execution.worker import Assignment

TIMEOUT = 60.0


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What a case costs on each backend, in the backend's own time.")
    parser.add_argument("backends", nargs="*", metavar="NAME", help="which; default: all that are there")
    cases = list(Corpus.load().cases("smoke"))
    for name in parser.parse_args().backends or names():
        try:
            with Pool(Assignment(name, None, None, ""), 1, TIMEOUT) as pool:
                elapsed, inside, answered, died = 0.0, 0.0, 0, 0
                last, alive = perf_counter(), True
                for line in pool.run(cases):
                    now = perf_counter()
                    record = line.record
                    lives = record.verdict.kind not in {"died", "timed-out"} and not record.harmed
                    if alive and lives:
                        elapsed += now - last
                        inside += record.seconds
                        answered += record.seconds > 0
                    died += not lives
                    last, alive = now, lives
        except BackendMissing as error:
            print(f"{name:30} not there: {error}")
            continue
        print(
            f"{name:30} {answered:5} answered, {died:4} died   backend {inside / max(answered, 1) * 1e3:7.2f} ms a case"
            f"   whole {elapsed / max(answered, 1) * 1e3:7.2f} ms   ratio {elapsed / max(inside, 1e-9):.2f}"
        )


if __name__ == "__main__":
    main()
