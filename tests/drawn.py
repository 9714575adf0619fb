"""The places of the elements on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

_READ = """selector => [...document.querySelectorAll(selector)].map(element => {
    const { x, y, width, height } = element.getBoundingClientRect();
    return { x, y, width, height };
})"""


def boxes(page: Page, selector: str) -> list[dict[str, float]]:
    """Return x, y, width and height of each element of a CSS selector, in pixels, all read at one moment.

    A page may draw an element anew between the moment at which Playwright finds it and the one at which it measures it.
    """
    expect(page.locator(selector).first).to_be_visible()
    found: list[dict[str, float]] = page.evaluate(_READ, selector)
    return found
