"""The atlas's page in a browser: a call is ported, and questions are drawn. Playwright and Chromium must be there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect, sync_playwright

from tconv.corpus import Corpus
from tconv.datafiles import data_folder
from tconv.gate.assessment import assess
from tconv.reports import atlas
from test_answers import run_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

CHROMIUM = "/usr/bin/chromium"
ONNX, OPENVINO = "onnx/ConvTranspose-22", "openvino/ConvolutionBackpropData-1"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of the atlas of two runs."""
    porting = Corpus.load(data_folder("cases") / "porting", data_folder("cases"))
    cases = list(porting.cases("gate"))
    runs = [run_of(cases, name, lambda _: ()) for name in (ONNX, OPENVINO)]
    made = atlas.atlas([assess(run, None, porting.facts) for run in runs], porting)
    path = tmp_path_factory.mktemp("atlas") / "atlas.html"
    path.write_text(atlas.html(made), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def page(address: str) -> Iterator[Page]:
    """Return the page; an error in it, or a request beyond its file, fails the test."""
    arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        opened = browser.new_page(viewport={"width": 1440, "height": 1000})
        complaints: list[str] = []
        opened.on("console", lambda message: complaints.append(message.text))
        opened.on("pageerror", lambda error: complaints.append(str(error)))
        opened.on("request", lambda asked: None if asked.url.startswith(address) else complaints.append(asked.url))
        opened.goto(address)
        yield opened
        browser.close()
        assert complaints == []


def test_a_call_is_ported(page: Page) -> None:
    """What both texts give, how that differs, what to write instead, and a drawing of both; errors are told."""
    form, outcome = page.locator(".port"), page.locator(".ported")
    form.locator('[name="from"]').select_option(ONNX)
    form.locator('[name="to"]').select_option("openvino/GroupConvolutionBackpropData-1")
    form.get_by_label("auto_pad").select_option("same_upper")
    form.get_by_label("input sizes").fill("5")
    form.get_by_label("kernel sizes").fill("4")
    form.get_by_label("output_shape").fill("9")
    for text in (
        f"{ONNX} gives the sizes [9], pads_begin [1].",
        "GroupConvolutionBackpropData-1 gives the sizes [9], pads_begin [2].",
        "the output begins 1 later",
        "pads_begin = [1]",
        "pads_end = [2]",
    ):
        expect(outcome).to_contain_text(text)
    expect(outcome.locator(".d-frame.d-given")).not_to_have_count(0)
    form.get_by_label("strides").fill("0")
    expect(outcome).to_have_text("strides must be one integer, or 1, of at least 1 (got 0)")
    form.get_by_label("strides").fill("2")


def test_every_question_of_the_rules_is_drawn(page: Page) -> None:
    """Each has the frames of its answers beside its texts."""
    places = page.locator("[data-question]")
    assert places.count() >= 5
    for place in places.all():
        expect(place.locator("svg .d-frame").nth(1)).to_be_visible()


@pytest.mark.parametrize("width", [360, 1440, 3840])
def test_no_width_needs_sideways_scrolling(page: Page, width: int) -> None:
    """Tables and drawings scroll within themselves."""
    page.set_viewport_size({"width": width, "height": 900})
    assert not page.locator("html").evaluate("element => element.scrollWidth > element.clientWidth")
