"""What a case costs on each backend, as a multiple of the time that the backend itself takes.

One worker runs the smoke tier as `tconv run -j 1` does. The backend's time is in its records; the rest is expectation,
operands, judging, record and the pipe between the processes. Deaths, and the start of another worker after each, are
left out: the backend is the cause of these.

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
                elapsed, in_backend, answered, died = 0.0, 0.0, 0, 0
                last, worker_lives = perf_counter(), True
                for line in pool.run(cases):
                    now = perf_counter()
                    record = line.record
                    survived = record.verdict.kind not in {"died", "timed-out"} and not record.harmed
                    if worker_lives and survived:
                        elapsed += now - last
                        in_backend += record.seconds
                        answered += record.seconds > 0
                    died += not survived
                    last, worker_lives = now, survived
        except BackendMissing as error:
            print(f"{name:30} not there: {error}")
            continue
        count = max(answered, 1)
        print(
            f"{name:30} {answered:5} answered, {died:4} died   backend {in_backend / count * 1e3:7.2f} ms a case"
            f"   whole {elapsed / count * 1e3:7.2f} ms   ratio {elapsed / max(in_backend, 1e-9):.2f}"
        )


if __name__ == "__main__":
    main()
