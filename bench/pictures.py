"""Make the pictures of the README and of the docs: screenshots of the page of a real run, light and dark.

The backends run without their waivers, so that the page has something to show. It needs playwright and Debian's
Chromium.

    python bench/pictures.py --backend onnxruntime --backend onednn --backend openvino
    python bench/pictures.py --output FOLDER --backend onnx-reference 'strides-dilations/grid/**'
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, ViewportSize

CHROMIUM = "/usr/bin/chromium"
PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
SIZE: ViewportSize = {"width": 1120, "height": 680}
LARGEST = 160_000
"""The most bytes of a picture."""
SCHEMES = ("light", "dark")


def page_of_a_run(backends: list[str], patterns: list[str], folder: Path) -> Path:
    """Run backends in the smoke tier without waivers, and return their page."""
    words = [word for backend in backends for word in ("--backend", backend)]
    command = [sys.executable, "-m", "tconv", "run", "--tier", "smoke", "--waivers", "none", "--quiet", *words]
    subprocess.run([*command, "--output", str(folder), *patterns], check=False)
    return next(folder.glob("*.html"))


def overview(page: Page) -> None:
    """Show the answer and the causes."""
    page.evaluate("scrollTo(0, 0)")


def matrix(page: Page) -> None:
    """Show topics by backends."""
    page.get_by_role("button", name="matrix", exact=True).click()
    page.locator("#records").evaluate("section => scrollTo(0, section.offsetTop)")


VIEWS = (overview, matrix)


def pictures(browser: Browser, address: str, folder: Path) -> None:
    """Write a picture of each view in each scheme.

    Args:
        browser: the browser.
        address: the address of the page.
        folder: the folder for the pictures.

    Raises:
        ValueError: a picture is too large for the README.
    """
    for scheme in SCHEMES:
        page = browser.new_page(viewport=SIZE, color_scheme=scheme)  # type: ignore[arg-type] # two words
        for view in VIEWS:
            page.goto("about:blank")
            page.goto(address)
            view(page)
            page.wait_for_timeout(400)
            path = folder / f"{view.__name__}-{scheme}.png"
            page.screenshot(path=path)
            if path.stat().st_size > LARGEST:
                raise ValueError(f"{path} must have at most {LARGEST} bytes (got {path.stat().st_size})")
        page.close()


def main() -> None:
    """Make the pictures that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", action="append", required=True, help="a backend; repeatable")
    parser.add_argument("--output", type=Path, default=PICTURES, help="the folder")
    parser.add_argument("patterns", nargs="*", help="patterns of cases; default: all of the smoke tier")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = page_of_a_run(arguments.backend, arguments.patterns, Path(folder))
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        pictures(browser, page.as_uri(), arguments.output)
        browser.close()


if __name__ == "__main__":
    main()
