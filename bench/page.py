"""Measure a page in a real Chromium: its size, the processor time of its first rows and of a filter, its memory.

Only the processor time of the page's main thread counts, so a busy machine changes little.

Run `python bench/page.py PAGE.html [--small]`. It needs playwright and Debian's Chromium.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from figures import Figure, run

ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
FILTERS = ("status=failed", "strides=2|2x2", "grow -NXC", "padding/*/*[auto_pad=same_upper]")
SCROLL = "async frames => { while (frames--) { scrollBy(0, 700); await new Promise(requestAnimationFrame); } }"


def opened(page: Page, address: str) -> dict[str, float]:
    """Return what it costs to show a page, to filter it and to scroll it."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def metric(name: str = "TaskDuration") -> float:
        found = session.send("Performance.getMetrics")["metrics"]
        return next(float(entry["value"]) for entry in found if entry["name"] == name)

    def cost(script: str, *arguments: object) -> float:
        before = metric()
        page.evaluate(script, *arguments)
        return metric() - before

    page.goto(address)
    page.locator("#table tbody tr").first.wait_for()
    page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    figures = {"first rows": metric()}
    filtering = "query => { location.hash = `q=${query}`; return new Promise(done => setTimeout(done, 50)); }"
    figures["a filter, the longest"] = max(cost(filtering, query) for query in FILTERS)
    page.evaluate('location.hash = "view=records"; new Promise(done => setTimeout(done, 300))')
    figures["a frame of scrolling"] = cost(SCROLL, 120) / 120
    session.send("HeapProfiler.collectGarbage")
    return figures | {"memory": metric("JSHeapUsedSize") / 1e6}


def measured(arguments: argparse.Namespace) -> dict[str, Figure]:
    """Measure the page."""
    path: Path = arguments.page.resolve()
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS) as browser,
    ):
        costs = opened(browser.new_page(viewport={"width": 1400, "height": 900}), path.as_uri())
    costs["size"] = path.stat().st_size / 1e6
    return {name: Figure([value], "MB" if name in {"size", "memory"} else "s") for name, value in costs.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path, help="a page that tconv wrote")
    sys.exit(run("page", measured, parser))
