"""axe finds nothing to object to on any view, in the light and in the dark, on a desk and on a phone.

It is `axe-core` of `tests/page/package-lock.json`: `npm --prefix tests/page ci` installs it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from test_site import site  # noqa: F401 - a fixture

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, ViewportSize

AXE = Path(__file__).parents[1] / "page" / "node_modules" / "axe-core" / "axe.min.js"
DESK: ViewportSize = {"width": 1440, "height": 1000}
PHONE: ViewportSize = {"width": 360, "height": 780}
VIEWS = ("#view=cases&q=status%3Dfailed", "#view=records", "#view=matrix")
CASES = ("wrong-size", "lost-bits", "death", "shape", "disputed")


def _findings(page: Page, rules: dict[str, Any]) -> list[str]:
    page.evaluate(AXE.read_text(encoding="utf-8"))
    # With every section open, so that nothing is hidden from axe.
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    page.wait_for_timeout(300)
    found: dict[str, Any] = page.evaluate("rules => axe.run(rules)", rules)
    assert found["passes"], "axe must have looked at something"
    return [f"{each['id']}: {node['html']}" for each in found["violations"] for node in each["nodes"]]


def _looked_at(browser: Browser, address: str, scheme: str, size: ViewportSize) -> list[str]:
    page = browser.new_page(viewport=size, color_scheme=scheme)  # type: ignore[arg-type] # two words
    page.goto(address)
    page.wait_for_timeout(300)
    # axe takes every link to a fragment that is off the screen for one that skips; over an open case they are states.
    everything = {"rules": {"skip-link": {"enabled": "#case=" not in page.url}}}
    # What is dark has other colours, and all else is as it is in the light.
    colours = {"runOnly": ["color-contrast", "link-in-text-block"]}
    try:
        return _findings(page, colours if scheme == "dark" else everything)
    finally:
        page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", [*VIEWS, *(f"#case=ways/{name}" for name in CASES)])
def test_the_page(browser: Browser, ways: str, view: str, scheme: str) -> None:
    """Overview, causes, baseline and each view of the explorer; and a case for each kind of what it may show."""
    assert _looked_at(browser, ways + view, scheme, DESK) == []


@pytest.mark.parametrize("view", ["", "#case=ways/wrong-size"])
def test_the_page_on_a_phone(browser: Browser, ways: str, view: str) -> None:
    """Where columns are away and a case is a dialog of its own."""
    assert _looked_at(browser, ways + view, "light", PHONE) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["index", "calls", "engines/acme", "questions/same"])
def test_the_site_of_runtimes(browser: Browser, site: Path, name: str, scheme: str) -> None:  # noqa: F811 - the fixture
    """Its table, its form, an engine and a question with its drawing."""
    assert _looked_at(browser, (site / f"{name}.html").as_uri(), scheme, DESK) == []
