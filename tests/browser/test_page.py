"""The HTML report in a browser: what a reader does with it. Playwright and Chromium must be there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import expect

from drawn import boxes
from tconv.cases.patterns import facts_of
from tconv.gate.assessment import assess
from tconv.gate.waivers import WaiverFile
from tconv.records.headers import BackendHeader, RunHeader
from tconv.records.record import CallSummary, Record
from tconv.records.record_file import Run
from tconv.reports import html
from tconv.reports.commands import reproduce
from tconv.reports.report import make_report
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from playwright.sync_api import Browser, Locator, Page, ViewportSize

    from tconv.gate.assessment import Assessment

PHONE: ViewportSize = {"width": 360, "height": 780}

PLANE = "padding/output-shape/grow[auto_pad=same_upper,output_shape=full+2,strides=3]"
VOLUME = "geometry/volume[strides=2x3x1]"
LINE = "geometry/line[strides=2]"
SHAPE = "padding/auto-pad/same[auto_pad=same_lower]"
WAIVED = "groups/plain[groups=2]"
HOSTILE = "invalid/inputs[</script><img src=x onerror=document.title='broken'>]"


SCROLL = "async frames => { while (frames--) { scrollBy(0, 700); await new Promise(requestAnimationFrame); } }"


def _case(number: int) -> str:
    return f"geometry/strides[strides={number % 3 + 1},data_format={'NXC' if number % 2 else 'NCX'},n={number}]"


def _differed(expected: np.ndarray[tuple[int, ...], np.dtype[np.float64]], actual: object) -> ver.Differed:
    places = np.argwhere(expected != actual)
    return ver.Differed("exact", len(places), expected.size, tuple(map(int, places[0])), 0.0, 1.0)


def _failures(folder: Path) -> Iterator[Record]:
    """Yield records that are no plain pass, and write their artifacts."""
    call = CallSummary({"strides": [3, 3]}, [("X", [2, 3, 4, 3], "f32"), ("W", [3, 2, 2, 2], "f32")], "NCX", "IOX")
    for name, case, shape in (
        ("plane", PLANE, (2, 3, 5, 4)),
        ("volume", VOLUME, (1, 2, 3, 4, 5)),
        ("line", LINE, (1, 1, 9)),
        ("waived", WAIVED, (1, 1, 2, 2)),
    ):
        expected = np.arange(float(np.prod(shape))).reshape(shape)
        actual = expected.copy()
        actual.flat[[1, -1]] = -5.0, np.nan
        np.savez(folder / f"{name}.npz", expected=expected, actual=actual, x=expected, w=expected)
        yield Record(case, "acme", "onnx/ConvTranspose-22", _differed(expected, actual), 0.01, f"{name}.npz", call)
    np.savez(folder / "shape.npz", expected=np.ones((1, 1, 3, 2)), actual=np.zeros((1, 1, 2, 2)))
    other = ver.WrongShape((1, 1, 3, 2), (1, 1, 2, 2))
    yield Record(SHAPE, "acme", "onnx/ConvTranspose-22", other, 0.02, "shape.npz", call)
    yield Record(HOSTILE, "acme", "onnx/ConvTranspose-22", ver.Crashed("signal 11", HOSTILE), 0.03, None, call)


def _assessment(records: Sequence[Record], folder: Path, name: str = "acme") -> Assessment:
    header = RunHeader(
        tconv="0.1.0",
        backend=BackendHeader(name=name, version="2.1"),
        dialect="onnx/ConvTranspose-22",
        path="my cases/own.yaml",
        tier="gate",
        corpus="sha256:c0ffee",
        cases=len(records),
        timeout=30.0,
        started="2026-11-20T23:40:00Z",
    )
    waiver = {
        "name": "groups-swapped",
        "dialects": [header.dialect],
        "cases": "groups",
        "verdict": {"kind": "differed"},
        "versions": ">=2",
        "clause": "attribute group",
        "because": "the second group is written first",
        "example": WAIVED,
        "link": "https://example.org/1",
        "date": "2026-11-20",
    }
    file = WaiverFile.model_validate({"format": 1, "backend": name, "waivers": [waiver] if name == "acme" else []})
    return assess(Run(folder / "acme.jsonl", header, sorted(records, key=lambda r: r.case)), file, facts_of)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of a page with two runs: 10,006 records of one, 12 of another."""
    folder = tmp_path_factory.mktemp("report")
    passes = [Record(_case(n), "acme", "onnx/ConvTranspose-22", ver.Agreed("exact"), n / 1e6) for n in range(10_000)]
    other = [Record(_case(n), "zeta", "onnx/ConvTranspose-22", ver.Agreed("exact")) for n in range(12)]
    runs = [_assessment([*passes, *_failures(folder)], folder), _assessment(other, folder, "zeta")]
    html.write(make_report(runs), folder / "index.html")
    return (folder / "index.html").as_uri()


@pytest.fixture
def opened(watched: Callable[[str], Page], address: str) -> Callable[..., Page]:
    """Return a function that opens the page, the same one each time."""
    page = watched(address)

    def go(fragment: str = "") -> Page:
        page.goto(address + fragment)
        return page

    return go


def _fragment(case: str) -> str:
    return f"#case={quote(case, safe='')}"


def _rows(page: Page) -> int:
    return page.locator("#table tbody tr").count()


def _pixels(page: Page, pane: int) -> str:
    return str(page.locator("#detail .tile canvas").nth(pane).evaluate("canvas => canvas.toDataURL()"))


def test_ten_thousand_records_make_few_rows(opened: Callable[..., Page]) -> None:
    """Only rows near the view are elements, wherever the reader is; the table tells assistants its true size."""
    page = opened("#view=records")
    expect(page.locator("#found")).to_have_text("10,006 cases (10,018 records)")
    expect(page.locator("#table")).to_have_attribute("aria-rowcount", "10019")
    page.locator(".skip").press("Enter")
    expect(page.locator("#records")).to_be_focused()
    expect(page.locator('#table tr[aria-rowindex="15"]')).to_be_visible()
    assert _rows(page) < 80
    page.locator("#none").evaluate("() => scrollTo(0, document.querySelector('#table').getBoundingClientRect().bottom)")
    expect(page.locator('#table tr[aria-rowindex="10019"]')).to_be_visible()
    assert _rows(page) < 80


def test_the_answer_comes_first(opened: Callable[..., Page]) -> None:
    """One screen says whether it is red, how many failures there are and what the largest cause is; runs have bars."""
    page = opened()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Red. acme: 1 crash, 4 wrong answers")
    expect(page.get_by_role("heading", level=1)).to_be_in_viewport()
    expect(page.locator(".runs tbody tr")).to_have_count(2)
    expect(page.locator(".runs tbody tr").first).to_contain_text("acme 2.1")
    expect(page.locator(".runs .share").first).to_be_in_viewport()


def test_a_cause_filters(opened: Callable[..., Page]) -> None:
    page = opened()
    page.locator(".cause", has_text="Crashes").locator(".words a").click()
    expect(page.locator("#found")).to_have_text("1 case")
    expect(page.locator("#chips")).to_contain_text("Crashes")
    expect(page.locator(".cause.chosen")).to_have_count(1)
    page.locator("#chips button").click()
    expect(page.locator("#found")).to_have_text("10,006 cases (10,018 records)")


def test_a_filter_of_runs_filters_causes(opened: Callable[..., Page]) -> None:
    page = opened()
    causes = page.locator(".cause")
    every = causes.count()
    page.evaluate("location.hash = 'q=' + encodeURIComponent('backend=zeta-1')")
    left = causes.locator("visible=true")
    expect(left).not_to_have_count(every)
    for number in range(left.count()):
        expect(left.nth(number).locator(".by-run")).to_contain_text("zeta")


def test_the_example_of_a_cause_opens(opened: Callable[..., Page]) -> None:
    page = opened()
    page.locator(".cause", has_text="groups-swapped").locator(".example a").click()
    expect(page.locator("#detail-head")).to_contain_text("groups/plain")


def test_a_count_filters(opened: Callable[..., Page]) -> None:
    page = opened()
    page.get_by_role("link", name="5 failed, acme 2.1").click()
    expect(page.locator("#found")).to_have_text("5 cases")
    expect(page.locator("#query")).to_have_value("backend=acme-2.1:onnx/ConvTranspose-22 status=failed")


def _facet(page: Page, name: str, value: str) -> Locator:
    facet = page.locator("details.facet").filter(has=page.locator("summary", has_text=name))
    return facet.locator("li button", has_text=value)


def test_facets_narrow_and_count(opened: Callable[..., Page]) -> None:
    """Its own values stay, with what each would leave; the browser's back takes a choice away."""
    page = opened()
    _facet(page, "status", "failed").click()
    expect(page.locator("#found")).to_have_text("5 cases")
    expect(_facet(page, "status", "passed")).to_contain_text("10,012")
    _facet(page, "topic", "padding").click()
    _facet(page, "topic", "geometry").click()
    expect(page.locator("#query")).to_have_value("status=failed topic=padding|geometry")
    page.go_back()
    expect(page.locator("#query")).to_have_value("status=failed topic=padding")


def test_cases_by_backends(opened: Callable[..., Page]) -> None:
    """Several runs are shown with one row a case and one symbol a backend; a symbol opens that record."""
    page = opened("#q=n=3|7")
    expect(page.locator("#table")).to_have_attribute("aria-label", "Cases by backends")
    expect(page.locator("#table tbody tr")).to_have_count(2)
    page.get_by_role("link", name="zeta 2.1: passed").first.click()
    expect(page.locator("#detail .answers tr[aria-current]")).to_contain_text("zeta 2.1")


def test_the_matrix_counts_and_filters(opened: Callable[..., Page]) -> None:
    """Rows and columns are any two facets; a cell has n of N as text, and opens its cases."""
    page = opened("#view=matrix")
    cell = page.get_by_role("button", name="2 of 10,002 failed, topic=geometry, backend=acme-2.1:onnx/ConvTranspose-22")
    expect(cell).to_have_text("2 of 10,002")
    page.get_by_label("columns").select_option("verdict")
    expect(page.get_by_role("columnheader", name="wrong-shape")).to_be_visible()
    page.get_by_role("button", name="1 of 1 failed, topic=padding, verdict=wrong-shape").click()
    expect(page.locator("#query")).to_have_value("topic=padding verdict=wrong-shape status=failed")
    expect(page).to_have_url(re.compile("view=cases.*across=verdict"))


def test_attributes_that_differ_are_columns(opened: Callable[..., Page]) -> None:
    """A record's attributes are columns, those that are the same everywhere are not there."""
    page = opened("#view=records&q=geometry/strides n=1|2 data_format=NXC|NCX")
    page.set_viewport_size({"width": 2200, "height": 900})
    expect(page.locator("#table th.fact")).to_contain_text(["strides", "data_format", "n"])
    page.locator("#query").fill("geometry/strides n=1|3")
    expect(page.locator("#table th.fact")).to_contain_text(["strides", "n"])
    expect(page.locator("#table th.fact", has_text="data_format")).to_have_count(0)


def test_keys_reach_everything(opened: Callable[..., Page]) -> None:
    """`/` searches, `j` and `k` go on and back, Enter opens and Escape closes."""
    page = opened("#view=records")
    expect(page.locator("#found")).to_have_text("10,006 cases (10,018 records)")
    page.keyboard.press("/")
    expect(page.locator("#query")).to_be_focused()
    page.keyboard.type("jk?")
    expect(page.locator("#query")).to_have_value("jk?")
    page.locator("#query").fill("")
    page.locator("#records-head").click()
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator('#table tr[aria-rowindex="3"] a')).to_be_focused()
    page.keyboard.press("k")
    expect(page.locator('#table tr[aria-rowindex="2"] a')).to_be_focused()
    page.keyboard.press("Enter")
    first = page.locator("#detail-head").text_content()
    page.keyboard.press("j")
    expect(page.locator("#detail-head")).not_to_have_text(first or "")
    page.keyboard.press("k")
    expect(page.locator("#detail-head")).to_have_text(first or "")
    page.keyboard.press("Escape")
    expect(page.locator("#detail")).to_be_hidden()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("SAME_UPPER full+2", "1 case"),
        ("n=7 -NXC", "0 cases"),
        (PLANE, "1 case"),
        ("acme:passed zeta:passed", "12 cases (24 records)"),
    ],
)
def test_search_knows_words_labels_and_patterns(opened: Callable[..., Page], query: str, found: str) -> None:
    """Words are looked for, key=value is held against labels, a minus excludes, globs are the project's."""
    page = opened()
    page.locator("#query").fill(query)
    expect(page.locator("#found")).to_have_text(found)
    expect(page.locator("#none")).to_be_visible(visible=found.startswith("0"))


def test_filters_are_in_the_address(opened: Callable[..., Page], browser: Browser) -> None:
    """Another browser that follows the address sees the same records in the same order."""
    page = opened("#view=records")
    page.locator("#query").fill("strides=2 NXC")
    page.get_by_role("button", name="seconds").click()
    page.get_by_role("button", name="seconds").click()
    first = page.locator('#table tr[aria-rowindex="2"] a').get_attribute("title")
    other = browser.new_page()
    other.goto(page.url)
    expect(other.locator("#query")).to_have_value("strides=2 NXC")
    expect(other.locator('#table tr[aria-rowindex="2"] a')).to_have_attribute("title", first or "")
    expect(other.get_by_role("columnheader", name="seconds")).to_have_attribute("aria-sort", "descending")
    other.close()


def test_deep_link_opens_the_case(opened: Callable[..., Page]) -> None:
    """A link to a case opens it, its row in view, encoded or as the id stands."""
    for link in (_fragment(PLANE), f"#case={PLANE}"):
        page = opened(link)
        expect(page.locator("#detail")).to_be_visible()
        expect(page.locator("#detail-head")).to_contain_text("padding/output-shape/grow")
        expect(page.locator('#table tr[aria-current="true"] a').first).to_have_attribute("title", PLANE)
        expect(page.locator('#table tr[aria-current="true"]')).to_be_in_viewport()
        page.goto("about:blank")


def test_link_to_no_case_is_told(opened: Callable[..., Page]) -> None:
    expect(opened("#case=no/such").locator("#detail")).to_contain_text("No record of this report has this id.")


def test_failure_shows_its_heatmaps(opened: Callable[..., Page]) -> None:
    """Expected, actual and their error are drawn, figures, call and commands are told."""
    page = opened("#view=records")
    page.locator("#query").fill("full+2")
    page.locator("#table tbody tr").click()
    expect(page.locator("#detail .large").first.locator("figcaption")).to_have_text(["expected", "actual", "error"])
    assert len({_pixels(page, pane) for pane in range(3)}) == 3
    for text in ("2 of 120", "[0, 0, 0, 1]", "strides", "[3, 3]", "[2, 3, 4, 3]", "data NCX, filter IOX", "NaN"):
        expect(page.locator("#detail")).to_contain_text(text)


def test_commands_are_those_of_the_other_reports(opened: Callable[..., Page]) -> None:
    """The command that reproduces a case is quoted as in the other reports, hostile ids included."""
    for case in (PLANE, HOSTILE):
        record = Record(case, "acme", "onnx/ConvTranspose-22", ver.BackendError(""))
        command = opened(_fragment(case)).locator("#detail .command pre").first
        backend = ("--backend", "acme", "--timeout", "30")
        expect(command).to_have_text(reproduce(record, backend, cases="my cases/own.yaml"))
        command.page.goto("about:blank")


def test_slices_are_chosen(opened: Callable[..., Page]) -> None:
    """The leading spatial axis has a choice that tells wrong elements; a click on a channel draws it large."""
    page = opened(_fragment(VOLUME))
    labels = page.locator("#detail .tile-view").first.locator(".slices > label")
    expect(labels).to_contain_text(["axis 0"])
    channels = page.locator("#detail .tile-view").first.locator(".multiples h4")
    expect(channels).to_have_text(["channel 0, 1 wrong", "channel 1, as expected"])
    before = _pixels(page, 0)
    page.locator('#detail .tile-view >> nth=0 >> select[data-axis="2"]').select_option(label="2, 1 wrong")
    assert _pixels(page, 0) != before
    page.locator("#detail .multiples .actual canvas").nth(1).click(position={"x": 1, "y": 1})
    expect(page.locator("#detail .large h4").first).to_have_text("channel 1, 1 wrong")
    expect(page.locator("#detail .tile-readout").first).to_contain_text("[0, 1, 2, 0, 0]")


def test_keys_walk_over_elements(opened: Callable[..., Page]) -> None:
    """Arrow keys move the cursor, n goes to the next wrong element in any slice, the readout says what is there."""
    page = opened(_fragment(PLANE))
    pane, readout = page.locator("#detail .tiles").first, page.locator("#detail .tile-readout").first
    for text in ("[0, 0, 0, 1]", "✗ wrong", "expected 1", "actual -5", "error -6"):
        expect(readout).to_contain_text(text)
    pane.press("ArrowDown")
    expect(readout).to_contain_text("[0, 0, 1, 1]")
    expect(readout).to_contain_text("✓ as expected")
    pane.press("n")
    expect(readout).to_contain_text("[1, 2, 4, 3]")
    expect(readout).to_contain_text("actual NaN")


def test_one_dimension_is_a_strip(opened: Callable[..., Page]) -> None:
    page = opened(_fragment(LINE))
    tiles = boxes(page, "#detail .tile canvas")[:3]
    assert all(tile["height"] < tile["width"] for tile in tiles)
    assert tiles[0]["x"] == tiles[1]["x"] == tiles[2]["x"]
    assert tiles[0]["y"] < tiles[1]["y"] < tiles[2]["y"]


def test_waiver_is_shown(opened: Callable[..., Page]) -> None:
    page = opened(_fragment(WAIVED))
    for text in ("~ waived", "Waiver: groups-swapped", "the second group is written first", "attribute group"):
        expect(page.locator("#detail")).to_contain_text(text)
    expect(page.get_by_role("link", name="https://example.org/1")).to_have_attribute("rel", "noopener noreferrer")


def test_hostile_text_stays_text(opened: Callable[..., Page]) -> None:
    page = opened(_fragment(HOSTILE))
    expect(page.locator("#detail pre").first).to_have_text(HOSTILE)
    assert page.locator("img").count() == 0
    assert page.title() != "broken"


def test_panel_is_left_and_come_back_to(opened: Callable[..., Page]) -> None:
    """Next goes on, the browser's back returns, Escape closes and gives the focus back to the row."""
    page = opened("#status=failed&view=records")
    page.locator('#table tr[aria-rowindex="2"] a').press("Enter")
    head = page.locator("#detail-head")
    first = head.text_content()
    expect(head).to_be_focused()
    page.get_by_role("button", name="Next record").click()
    expect(head).not_to_have_text(first or "")
    expect(page.get_by_role("button", name="Next record")).to_be_focused()
    page.go_back()
    expect(head).to_have_text(first or "")
    page.keyboard.press("Escape")
    expect(page.locator("#detail")).to_be_hidden()
    expect(page.locator('#table tr[aria-rowindex="2"] a')).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator('#table tr[aria-rowindex="3"] a')).to_be_focused()


def test_phone_needs_no_sideways_scrolling(opened: Callable[..., Page]) -> None:
    """At 360 pixels the overview, all views and the panel, which is modal there, fit the width."""
    for fragment in ("", "#status=failed", "#view=records", "#view=matrix", _fragment(PLANE), _fragment(VOLUME)):
        page = opened()
        page.set_viewport_size(PHONE)
        page.goto("about:blank")
        opened(fragment)
        for element in ("html", "#detail"):
            wide = page.locator(element).evaluate("element => element.scrollWidth > element.clientWidth")
            assert not wide, (fragment, element)
        expect(page.locator("#detail:modal")).to_have_count(int("case" in fragment))
        page.goto("about:blank")


@pytest.mark.parametrize("width", [390, 1440])
def test_a_chip_of_many_words_is_cut(opened: Callable[..., Page], width: int) -> None:
    """The page is no wider for the words of a cause, and the button that takes the filter away stays in view."""
    page = opened()
    page.set_viewport_size({"width": width, "height": 900})
    words = page.locator(".cause .words").all_text_contents()
    longest = max(range(len(words)), key=lambda at: len(words[at]))
    name = page.locator(".cause").nth(longest).get_attribute("data-cause")
    page.goto("about:blank")
    opened(f"#q=cause%3D{name}")
    chip = page.locator("#chips li")
    assert chip.locator("span").evaluate("span => span.scrollWidth > span.clientWidth"), "the words are too few"
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    chip.scroll_into_view_if_needed()
    expect(chip.locator("button")).to_be_in_viewport(ratio=1)


def test_a_phone_has_the_backend_and_the_labels_of_a_record(opened: Callable[..., Page]) -> None:
    """There is no column of backends: it stands below the status. Labels are folded, within the height of a row."""
    page = opened()
    page.set_viewport_size(PHONE)
    page.goto("about:blank")
    opened("#view=records&q=status%3Dpassed")
    first = page.locator('#table tr[aria-rowindex="2"]')
    expect(first.locator(".status .labels")).to_have_text("acme 2.1")
    lines = first.locator(".case .labels").evaluate(
        "element => element.clientHeight / parseFloat(getComputedStyle(element).lineHeight)"
    )
    assert round(lines) > 1
    inside = "element => element.querySelector('.case a').offsetHeight <= element.clientHeight"
    assert first.evaluate(inside)


def test_colours_follow_the_system(opened: Callable[..., Page]) -> None:
    """Dark colours come with the system's, and heatmaps are drawn again."""
    page = opened(_fragment(PLANE))
    page.emulate_media(color_scheme="light")
    ground = "() => getComputedStyle(document.body).backgroundColor"
    light, drawn = page.evaluate(ground), _pixels(page, 2)
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(ground) != light
    page.wait_for_function("old => document.querySelectorAll('#detail .tile canvas')[2].toDataURL() !== old", arg=drawn)


def test_totals_without_scripts(browser: Browser, address: str, tmp_path: Path) -> None:
    """A reader without scripts has the totals, and is told what is missing."""
    # A sandboxed frame is where scripts are off and all else is as ever.
    (tmp_path / "frame.html").write_text(
        f'<!doctype html><iframe sandbox width=1200 height=800 src="{address}"></iframe>'
    )
    page = browser.new_page()
    page.goto((tmp_path / "frame.html").as_uri())
    frame = page.frame_locator("iframe")
    expect(frame.locator("noscript p")).to_contain_text("table of records needs scripts")
    expect(frame.get_by_role("link", name="10,000 passed, acme")).to_be_visible()
    expect(frame.locator(".cause").first).to_be_visible()
    expect(frame.locator("#records")).to_be_hidden()
    page.close()


def test_print_has_rows(opened: Callable[..., Page]) -> None:
    """On paper the rows follow each other, at most 100 of them, and the controls are away."""
    page = opened("#view=records")
    expect(page.locator("#found")).to_have_text("10,006 cases (10,018 records)")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert _rows(page) == 100
    expect(page.locator("#filters")).to_be_hidden()
    page.emulate_media(media="screen")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of a page with 100,000 records of 25,000 cases."""
    folder = tmp_path_factory.mktemp("large")
    runs = []
    for name in ("acme", "zeta", "iota", "rho"):
        verdicts = [ver.Agreed("exact"), ver.Agreed("bound"), ver.Disputed(("negative-same-shrunk",), "exact")]
        records = [Record(_case(n), name, "onnx/ConvTranspose-22", verdicts[n % 3], n / 1e6) for n in range(25_000)]
        runs.append(_assessment(records, folder, name))
    html.write(make_report(runs), folder / "index.html")
    return (folder / "index.html").as_uri()


def test_a_hundred_thousand_records_make_few_rows(browser: Browser, large: str) -> None:
    """However far a reader scrolls; a filter counts all of them. What that costs is measured by `bench/page.py`."""
    assert Path(large.removeprefix("file://")).stat().st_size < 3e6
    page = browser.new_page()
    session = page.context.new_cdp_session(page)
    page.goto(large)
    page.locator("#table tbody tr").first.wait_for()
    for query, found in (
        ("status=disputed", "8,333 cases (33,332 records)"),
        ("acme:disputed n=3|5|7", "1 case (4 records)"),
    ):
        page.locator("#query").fill(query)
        expect(page.locator("#found")).to_have_text(found)
    page.locator("#query").fill("")
    page.get_by_role("button", name="records", exact=True).click()
    expect(page.locator("#found")).to_have_text("25,000 cases (100,000 records)")
    for _ in range(3):
        page.evaluate(SCROLL, 40)
        # What a row costs must not grow with the rows that were made before.
        assert _rows(page) < 80
    session.send("Performance.enable")
    session.send("HeapProfiler.collectGarbage")
    metrics = {found["name"]: found["value"] for found in session.send("Performance.getMetrics")["metrics"]}
    assert metrics["JSHeapUsedSize"] < 60e6
    page.close()
