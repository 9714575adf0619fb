"""The site of runtimes in a browser, from a folder: search, a reader's own call, and a phone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from test_site import site  # noqa: F401 - a fixture

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, ViewportSize

DESK: ViewportSize = {"width": 1440, "height": 1000}
PHONE: ViewportSize = {"width": 360, "height": 780}
PAGES = ("index", "calls", "findings", "changes", "texts", "engines/acme", "questions/same")


def test_it_requests_nothing_but_its_files(browser: Browser, site: Path) -> None:  # noqa: F811 - the fixture
    page = browser.new_page(viewport=DESK)
    requested: list[str] = []
    failed: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.on("pageerror", lambda error: failed.append(str(error)))
    page.on("console", lambda message: failed.append(message.text) if message.type == "error" else None)
    for name in PAGES:
        page.goto((site / f"{name}.html").as_uri())
    page.close()
    assert failed == []
    assert requested
    assert all(url.startswith((site.as_uri(), "data:")) for url in requested)


def test_a_search_leads_to_an_answer(browser: Browser, site: Path) -> None:  # noqa: F811 - the fixture
    """Words in any order, with or without the underscore, from a page in a folder too; words of a title count most."""
    page = browser.new_page(viewport=DESK)
    page.goto((site / "engines/acme.html").as_uri())
    page.fill("#search", "same lower openvino stride 3")
    page.locator("#found a").first.click()
    page.wait_for_load_state()
    assert page.url.endswith("questions/same-lower.html#openvino")
    page.close()


def test_a_call_gets_an_answer_of_each_engine(browser: Browser, site: Path) -> None:  # noqa: F811 - the fixture
    """The choice stands in the address, and the questions that it touches are links."""
    page = browser.new_page(viewport=PHONE)
    page.goto((site / "calls.html").as_uri())
    page.select_option("select[name=mode]", "same_lower")
    page.select_option("select[name=stride]", "3")
    assert page.url.endswith("#mode=same_lower&stride=3")
    assert page.locator("#made tbody tr").count() == 2
    assert "SAME_LOWER" in page.inner_text("#touched")
    page.reload()
    assert page.input_value("select[name=stride]") == "3"
    page.close()


@pytest.mark.parametrize("name", PAGES)
def test_no_page_is_wider_than_a_phone(browser: Browser, site: Path, name: str) -> None:  # noqa: F811 - the fixture
    page = browser.new_page(viewport=PHONE)
    page.goto((site / f"{name}.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.close()
