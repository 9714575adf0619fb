"""Measure the page of 100,000 records: its size, the processor time of its first rows and of a filter, its memory.

The records are of 25,000 cases of the corpus in four made runs; a fifth of them deviate. A real Chromium opens the
page. Only the processor time of its main thread counts, so a busy machine changes little.

Run `python bench/page.py [--small]`. It needs playwright and Debian's Chromium.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from itertools import islice
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any
from zlib import crc32

from playwright.sync_api import sync_playwright

from figures import Figure, run
from tconv.corpus import Corpus
from tconv.gate.assessment import assess
from tconv.records.headers import BackendHeader, RunHeader
from tconv.records.record import Record
from tconv.records.record_file import Run
from tconv.reports import html
from tconv.reports.report import make_report
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from tconv.gate.assessment import Assessment

CHROMIUM = Path("/usr/bin/chromium")
DIALECT = "onnx/ConvTranspose-22"
RUNS = 4
FILTERS = ("status=failed", "strides=2|2x2", "run1:failed run2:passed", "grow -NXC", "padding/*/*[auto_pad=same_upper]")

SCROLL = "async frames => { while (frames--) { scrollBy(0, 700); await new Promise(requestAnimationFrame); } }"


def verdict(case: str, number: int) -> ver.Verdict:
    """Return a made backend's verdict on a case: four in five agree, the others fail in several ways."""
    drawn = crc32(f"{number} {case}".encode())
    match drawn % 20:
        case 0:
            return ver.Differed("bound", drawn % 97 + 1, 97, (0, 0, drawn % 3, 1), float(drawn % 31), 0.5, 3.0)
        case 1:
            return ver.RefusedValid(f"kernel {drawn % 7} is not implemented")
        case 2:
            return ver.Crashed("signal 11", "terminate called after throwing an instance of 'std::bad_alloc'")
        case 3:
            return ver.Disputed(("negative-same-shrunk",), "exact")
        case _:
            return ver.Agreed("bound")


def assessments(corpus: Corpus, records: int) -> list[Assessment]:
    """Return made runs that have this number of records in all."""
    ids = list(islice(corpus.ids("full"), records // RUNS))
    return [assess(_run(ids, number), None, corpus.find_facts) for number in range(RUNS)]


def _run(ids: list[str], number: int) -> Run:
    backend = BackendHeader(name=f"run{number}", version="1")
    header = RunHeader(
        tconv="0", backend=backend, dialect=DIALECT, tier="full", corpus="", cases=len(ids), timeout=1, started=""
    )
    records = [Record(case, backend.name, DIALECT, verdict(case, number), crc32(case.encode()) / 1e12) for case in ids]
    return Run(Path("made.jsonl"), header, sorted(records, key=lambda record: record.case))


def opened(path: Path) -> dict[str, float]:
    """Return what it costs a browser to show a page and to filter it."""
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=CHROMIUM, args=arguments) as browser,
    ):
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})

        def metric(name: str) -> float:
            metrics: list[dict[str, Any]] = session.send("Performance.getMetrics")["metrics"]
            return next(float(entry["value"]) for entry in metrics if entry["name"] == name)

        page.goto("about:blank")
        page.goto(path.as_uri())
        page.locator("#table tbody tr").first.wait_for()
        page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
        figures = {"first rows": metric("TaskDuration")}
        filter_costs = []
        for query in FILTERS:
            before = metric("TaskDuration")
            page.evaluate(
                "query => { location.hash = `q=${query}`; return new Promise(done => setTimeout(done, 50)); }", query
            )
            filter_costs.append(metric("TaskDuration") - before)
        figures["a filter, the longest"] = max(filter_costs)
        page.evaluate('location.hash = "view=records"; new Promise(done => setTimeout(done, 300))')
        before, frames = metric("TaskDuration"), 120
        page.evaluate(SCROLL, frames)
        figures["a frame of scrolling"] = (metric("TaskDuration") - before) / frames
        session.send("HeapProfiler.collectGarbage")
        figures["memory"] = metric("JSHeapUsedSize") / 1e6
        return figures


def measured(arguments: argparse.Namespace) -> dict[str, Figure]:
    """Measure the page with the number of records for the size."""
    corpus = Corpus.load()
    records = 10_000 if arguments.small else 100_000
    runs = assessments(corpus, records)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        started = process_time()
        html.write(make_report(runs), path, corpus.find)
        written = process_time() - started
        figures = {
            f"{records:,} records": Figure([path.stat().st_size / 1e6], "MB"),
            "written in": Figure([written], "s"),
        }
        units = {"memory": "MB"}
        costs = {name: Figure([value], units.get(name, "s")) for name, value in opened(path).items()}
        return figures | costs


if __name__ == "__main__":
    sys.exit(run("page", measured, argparse.ArgumentParser(description=__doc__)))
