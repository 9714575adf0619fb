"""What the browser tests share: a browser, and a page about a backend that goes wrong in twelve ways."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import sync_playwright

import twelve_ways
from tconv.corpus import Corpus
from tconv.execution.asking import Asking
from tconv.execution.run import RunSettings, run
from tconv.execution.selection import Selection
from tconv.export.issue import recorded_issue
from tconv.gate.assessment import assess
from tconv.records.record_file import read
from tconv.reports import html
from tconv.reports.between_runs.comparing import compare
from tconv.reports.report import Report, make_report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

CHROMIUM = "/usr/bin/chromium"
_BACKENDS = ("twelve_ways:TwelveWays", "wrong_backends:Right")


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of a page about a backend that goes wrong in twelve ways, and one that is right."""
    folder = tmp_path_factory.mktemp("ways")
    file = folder / "ways.yaml"
    file.write_text(twelve_ways.CASES, encoding="utf-8")
    corpus = Corpus.load(file)
    assessments = [assess(read(_records(name, folder, corpus)), None, corpus.find_facts) for name in _BACKENDS]
    ways, right = make_report(assessments).runs
    report = Report([replace(ways, since=compare(right, ways)), right])
    html.write(report, folder / "index.html", corpus.find, partial(recorded_issue, find=corpus.find))
    return (folder / "index.html").as_uri()


def _records(backend: str, folder: Path, corpus: Corpus) -> Path:
    settings = RunSettings(Asking(backend, timeout=2.0, repeat=2), folder / backend.partition(":")[2])
    return run(Selection(corpus), settings, lambda *_: None).path


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield started
        started.close()


@pytest.fixture
def watched(browser: Browser) -> Iterator[Callable[[str], Page]]:
    """Return what gives a new page for an address; an error in it, or a request for anything else, fails the test."""
    complaints: list[str] = []
    pages: list[Page] = []

    def watch(address: str) -> Page:
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: None if request.url.startswith(address) else complaints.append(request.url))
        pages.append(page)
        return page

    yield watch
    for page in pages:
        page.close()
    assert complaints == []
