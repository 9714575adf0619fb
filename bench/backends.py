"""What a case costs on each backend, as a multiple of the time that the backend itself takes.

One worker runs the smoke tier as `tconv run -j 1` does. The floor is what passes in the backend, from its records; what
is on top is expectation, operands, judgement, record and the way between the processes. Workers that die and are
started anew belong to the backend's price and not to the harness: the ratio of a backend that dies is told without the
time of the cases that died.

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
from tconv.records import RECORD

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
                last = perf_counter()
                for line in pool.run(cases):
                    now = perf_counter()
                    record = RECORD.validate_json(line.text)
                    if record.verdict.kind in {"died", "timed-out"}:
                        died += 1
                    else:
                        elapsed += now - last
                        inside += record.seconds
                        answered += record.seconds > 0
                    last = now
        except BackendMissing as error:
            print(f"{name:30} not there: {error}")
            continue
        print(
            f"{name:30} {answered:5} answered, {died:4} died   backend {inside / max(answered, 1) * 1e3:7.2f} ms a case"
            f"   whole {elapsed / max(answered, 1) * 1e3:7.2f} ms   ratio {elapsed / max(inside, 1e-9):.2f}"
        )


if __name__ == "__main__":
    main()
