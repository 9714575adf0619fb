"""The view of a case in a browser: three clicks from red to why. Playwright and Chromium must be there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from drawn import boxes

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

WHYS = [
    ("wrong-size", "failed", ("must be [2, 6, 7, 9] (got [2, 6, 6, 9])", "begins 1 later and is 1 shorter on axis 0")),
    ("shift", "failed", ("pads of begin and end are exchanged", "begins 2 earlier on axis 0")),
    ("lost-bits", "failed", ("rounded to the 11 significant bits of TF32", "error/allowed")),
    ("missing-product", "failed", ("indices 1, 3, ... of the last axis",)),
    ("refusal", "failed", ("no kernel for nine columns", "The call was refused, so there is no output")),
    ("death", "failed", ("SIGABRT", "The process crashed, so there is no output")),
    ("hang", "failed", ("no answer within 2 s", "There was no answer in time")),
    ("dtype", "failed", ("must be f32 (got f64, with the right values)",)),
    ("shape", "failed", ("must be [2, 6, 7, 25] (got [2, 6, 7])", "The shape must be")),
    ("unstable", "failed", ("unstable", "different answers to the same call")),
    ("accepted-invalid", "reported", ("breaks pads-without-auto-pad", "cannot be used simultaneously with auto_pad")),
    (
        "disputed",
        "disputed",
        ("nothing is cropped or added, and the output stays smaller", "begins 1 later and is 1 shorter"),
    ),
]
"""Each way to go wrong, its status, and what its view must say."""
DRAWN = [name for name, _, _ in WHYS if name != "accepted-invalid"]


@pytest.fixture
def page(watched: Callable[[str], Page], ways: str) -> Page:
    opened = watched(ways)
    opened.goto(ways)
    return opened


def _open(page: Page, case: str) -> None:
    page.goto(page.url.partition("#")[0] + f"#case={case}")
    expect(page.locator("#detail-head")).to_contain_text(case.partition("[")[0])


@pytest.mark.parametrize(("way", "status", "says"), WHYS)
def test_three_clicks_from_red_to_why(page: Page, way: str, status: str, says: tuple[str, ...]) -> None:
    """From the count of a status to the case: its view says what came, why, and draws what was expected."""
    page.locator(f".runs a.{status}").first.click()
    page.locator(f'#table a[title="ways/{way}"]').first.click()
    for text in says:
        expect(page.locator("#detail")).to_contain_text(text)
    expect(page.locator("#detail .answers tr[aria-current] .status")).to_contain_text(status)
    # Another backend, and if it was another answer then the baseline.
    expect(page.locator("#detail .answers tbody tr", has_not_text="the baseline")).to_have_count(2)
    expect(page.locator("#detail .lane-drawing svg")).not_to_have_count(0) if way in DRAWN else expect(
        page.locator("#detail .drawing")
    ).to_have_count(0)


def test_an_element_is_chosen_by_keys_and_pointer(page: Page) -> None:
    """Arrow keys walk over elements of the drawing, whose products are said; values and drawing follow each other."""
    _open(page, "ways/shift")
    drawing, words = page.locator("#detail .drawing"), page.locator("#detail .products")
    expect(words).to_contain_text("y[0, 0, 0, 0]: 2 products in each of the input channels ic = 0 to 1")
    expect(words).to_contain_text("(bias) = -102")
    expect(words).to_contain_text("In the output of the backend it is element [0, 0, 2, 0]")
    drawing.press("ArrowRight")
    expect(words).to_contain_text("y[0, 0, 0, 1]: 4 products")
    expect(page.locator("#detail .tile-readout").first).to_contain_text("index [0, 0, 0, 1]")
    page.locator("#detail .large .actual canvas").first.hover(position={"x": 3, "y": 3})
    expect(words).to_contain_text("y[0, 0, 0, 0]")
    box = boxes(page, "#detail .plane-drawing svg")[0]
    page.locator("#detail .plane-drawing svg").hover(position={"x": box["width"] / 2, "y": 3})
    expect(words).to_contain_text("The expected output has no such element")


def test_a_case_is_drawn_for_the_width_that_it_has(page: Page) -> None:
    """Values and geometry are drawn anew where the window gets another width."""
    _open(page, "ways/shift")
    views = page.locator("#detail .tile-view").first, page.locator("#detail .geometry-view").first
    for view in views:
        expect(view.locator("canvas, svg").first).to_be_visible()
        view.locator("canvas, svg").evaluate_all("all => all.forEach(each => each.classList.add('old'))")
    page.set_viewport_size({"width": 600, "height": 900})
    for view in views:
        expect(view.locator(".tile canvas.old, .drawing svg.old")).to_have_count(0)
        expect(view.locator("canvas, svg").first).to_be_visible()


def test_outputs_of_another_shape_are_laid_over_their_place(page: Page) -> None:
    """With the learnt offset only what is missing, or too much, is wrong; outputs of one shape lie as they came."""
    _open(page, "ways/shift")
    expect(page.locator("#detail .tile-view").first).to_contain_text("462 of 923 wrong elements are in this slice")
    _open(page, "ways/wrong-size")
    expect(page.locator("#detail")).to_contain_text("The first element of actual is drawn over the expected [1, 0]")
    expect(page.locator("#detail .tile-view").first).to_contain_text("no element there")


def test_values_are_read_as_text(page: Page) -> None:
    _open(page, "ways/missing-product")
    page.locator("#detail .as-text").first.click()
    table = page.locator("#detail .value-table table")
    expect(table.locator("thead th")).to_have_text(["index", "expected", "actual", "error", "so it is"])
    expect(table.locator("tr.wrong").first).to_contain_text("✗ wrong")


def test_a_volume_has_a_plane_of_a_chosen_index(page: Page) -> None:
    """The first axis is a lane; pointing at it chooses the slice, in the drawing and in the values."""
    _open(page, "ways/volume")
    expect(page.locator("#detail .plane-drawing")).to_contain_text("at index 0 of axis 0")
    page.locator("#detail .drawing").press("PageDown")
    expect(page.locator("#detail .plane-drawing")).to_contain_text("at index 1 of axis 0")
    expect(page.locator('#detail select[data-axis="2"]').first).to_have_value("1")


def test_neighbours_and_commands(page: Page) -> None:
    """The nearest pass is first and a link; commands name the case."""
    _open(page, "ways/strides[strides=2,pads=some]")
    for command in ("run", "show", "explain", "shrink", "export", "export"):
        expect(page.locator("#detail .commands")).to_contain_text(
            f"tconv {command} 'ways/strides[strides=2,pads=some]'"
        )
    first = page.locator("#detail .neighbours li").first
    expect(first).to_contain_text("passed")
    first.get_by_role("link", name="pads: some → none").click()
    expect(page.locator("#detail .answers tr[aria-current] .status")).to_contain_text("passed")
    expect(page.locator("#detail .commands")).to_contain_text("tconv show 'ways/strides[strides=2,pads=none]'")
    expect(page.locator("#detail .commands")).not_to_contain_text("tconv shrink")
    expect(page.locator("#detail summary", has_text="bug report")).to_have_count(0)


def test_the_example_of_a_cause_has_its_bug_report(page: Page) -> None:
    """It is the text of `tconv export --issue`, with Python that needs no tconv, to read and to copy."""
    _open(page, "ways/shift")
    page.locator("#detail summary", has_text="bug report").click()
    text = page.locator("#detail details[open] pre")
    expect(text).to_contain_text("# TwelveWays 1.0: onnx/ConvTranspose-22 gives wrong values, as if pads-exchanged")
    expect(text).to_contain_text("import onnxruntime")


@pytest.mark.parametrize("width", [360, 1440, 3840])
@pytest.mark.parametrize("case", ["shift", "line", "spacing", "large", "long", "shape"])
def test_no_width_needs_sideways_scrolling(page: Page, case: str, width: int) -> None:
    """From a phone to a wall of 3,840 pixels the view fits; wide drawings scroll within themselves."""
    page.set_viewport_size({"width": width, "height": 1000})
    _open(page, f"ways/{case}")
    page.wait_for_timeout(200)
    for element in ("html", "#detail"):
        wide = page.locator(element).evaluate("element => element.scrollWidth > element.clientWidth")
        assert not wide, element


def test_a_comparison_is_read_on_a_phone(page: Page) -> None:
    """What became of the cases since the baseline fits, and each count is a link to its cases."""
    page.set_viewport_size({"width": 400, "height": 900})
    for table in page.locator("main .wide:has(.runs, .changes)").all():
        assert table.evaluate("table => table.scrollWidth <= table.clientWidth")
    count = page.locator("section:has(> #since)").get_by_role("link", name=" new").first
    cases = (count.text_content() or "").split()[0]
    count.click()
    expect(page.locator("#found")).to_contain_text(f"{cases} case")


def test_print_has_the_drawing_and_not_the_controls(page: Page) -> None:
    """On paper the case is all there is, without what can only be clicked."""
    _open(page, "ways/shift")
    page.emulate_media(media="print")
    expect(page.locator("#detail .plane-drawing svg").first).to_be_visible()
    expect(page.locator("#detail .as-text").first).to_be_hidden()
    expect(page.locator("main")).to_be_hidden()


def test_drawings_have_titles(page: Page) -> None:
    """A screen reader is told what each drawing is; what the arrow keys do is said where they work."""
    _open(page, "ways/line")
    for svg in page.locator("#detail .drawing svg").all():
        title = svg.get_attribute("aria-labelledby") or ""
        assert page.locator(f"#{title.split()[0]}").text_content()
    assert "arrow keys" in (page.locator("#detail .drawing").get_attribute("aria-label") or "")
