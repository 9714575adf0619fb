"""The site of runtimes: made from records and rules alone, whole, escaped, and without a request to anywhere."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from played_backends import run_following as run_of
from tconv.backends.engine_names import ENGINES, engine_name
from tconv.backends.environments import engines
from tconv.datafiles import data_folder
from tconv.dialects import DIALECTS
from tconv.errors import UsageError
from tconv.gate.assessment import assess_with_corpus
from tconv.gate.waivers import WaiverFile
from tconv.records.record import Record
from tconv.reports.report import make_report
from tconv.reports.site.drawings import draw_question
from tconv.reports.site.engines import list_engines
from tconv.reports.site.questions import FIELDS, describe, list_questions
from tconv.reports.site.writing import refuse_other_files, write
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from small_corpus import Command
    from tconv.corpus import Corpus
    from tconv.records.record_file import Run

ONNX, OPENVINO = "onnx/ConvTranspose-22", "openvino/ConvolutionBackpropData-1"
HOSTILE = "</script><img src=x onerror=alert(1)>"


def named(run: Run, name: str, version: str) -> Run:
    backend = run.header.backend.model_copy(update={"name": name, "version": version})
    return replace(run, header=run.header.model_copy(update={"backend": backend}), path=Path(f"{name}-{version}.jsonl"))


@pytest.fixture(scope="module")
def site(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site of two releases of one runtime, the newer of which shrinks and crashes, and of another one."""
    cases = list(corpus.cases("gate", ["porting/**"]))
    shrunk = next(reading for reading in DIALECTS[ONNX].disputed if reading.name == "negative-same-shrunk")
    right, other = run_of(cases, ONNX, lambda _: ()), run_of(cases, OPENVINO, lambda _: ())
    shrinks = run_of(cases, ONNX, lambda _: (shrunk,))
    crashing, another = sorted(shrinks.records, key=lambda record: record.case)[:2]
    records = [
        replace(one, verdict=ver.Crashed("SIGSEGV", "ouch")) if one in {crashing, another} else one
        for one in shrinks.records
    ]
    waiver = {
        "name": "dies", "cases": crashing.case, "dialects": [ONNX], "verdict": {"kind": "crashed"}, "because": HOSTILE,
        "clause": HOSTILE, "example": crashing.case, "versions": "", "date": "2026-11-27",
        "link": "javascript:alert(1)",
    }  # fmt: skip
    waivers = WaiverFile.model_validate({"format": 1, "backend": "acme", "waivers": [waiver]})
    runs = [
        named(right, "acme", "1.2"),
        named(replace(shrinks, records=records), "acme", "1.10"),
        named(other, "openvino-onnx", "2026.1"),
    ]
    assessments = [
        assess_with_corpus(run, waivers if number == 1 else None, corpus, strict=False, own=False)
        for number, run in enumerate(runs)
    ]
    folder = tmp_path_factory.mktemp("sites") / "site"
    assert write(make_report(assessments), cases, corpus.find, folder) == len(list(folder.rglob("*.html")))
    return folder


def smallest_records() -> str:
    return str(min(data_folder("records").glob("*.jsonl.xz"), key=lambda path: path.stat().st_size))


def test_a_site_is_written_into_its_folder_and_other_files_stay(command: Command, tmp_path: Path) -> None:
    """Such as those of a branch that is published; a link and `.` are the folder too."""
    (tmp_path / "pages/.git").mkdir(parents=True)
    (tmp_path / "pages/CNAME").write_text("example.org")
    (tmp_path / "link").symlink_to("pages")
    for folder in ("link", "pages", "."):
        done = command("site", smallest_records(), "--output", folder)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / folder / "index.html").is_file()
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "pages/.git").is_dir()
    assert (tmp_path / "pages/CNAME").read_text() == "example.org"


def test_no_file_of_others_is_replaced(site: Path, command: Command, tmp_path: Path) -> None:
    """Whichever file of a site has its name; this is said before any record is read."""
    for path in site.iterdir():
        folder = tmp_path / path.name
        folder.mkdir()
        (folder / path.name).write_text("mine")
        with pytest.raises(UsageError, match="must be a site of tconv or have no"):
            refuse_other_files(folder)
    refused = command("site", "no-records", "--output", "site.js")
    assert refused.returncode == 2
    assert "must be a site of tconv or have no site.js (got site.js/site.js)" in refused.stderr


class Links(HTMLParser):
    """The addresses and the ids of a page, and its tags."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.ids: list[str] = []
        self.tags: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            assert not name.startswith("on")
            if name in {"href", "src"} and value:
                self.addresses.append(value)
            elif name == "id" and value:
                self.ids.append(value)


def test_every_address_leads_somewhere(site: Path) -> None:
    """Pages, styles, scripts, JSON and places in a page: all are there, each place once, and nothing is elsewhere."""
    pages = {page: Links(page) for page in site.rglob("*.html")}
    for page, links in pages.items():
        assert len(set(links.ids)) == len(links.ids), page
        for address in links.addresses:
            if address == "data:,":
                continue
            path, _, place = address.partition("#")
            target = (page.parent / path).resolve() if path else page
            assert target.is_file(), (page, address)
            assert target.is_relative_to(site)
            assert not place or place in pages[target].ids, (page, address)


def test_each_question_engine_and_finding_has_a_page_with_json(site: Path) -> None:
    for question in list_questions():
        data = json.loads((site / "questions" / f"{question.key}.json").read_text())
        assert set(data["engines"]) == {"acme", "OpenVINO"}
    (finding,) = json.loads((site / "engines/acme.json").read_text())["findings"].items()
    assert (finding[0], finding[1]["because"], finding[1]["count"]) == ("acme-dies", HOSTILE, 1)
    assert json.loads((site / "engines/acme.badge.json").read_text())["schemaVersion"] == 1


def test_it_says_who_follows_what(site: Path) -> None:
    """Of the newest release: 1.10 comes after 1.2."""
    followed = json.loads((site / "questions/negative-same.json").read_text())["engines"]
    (acme,), (openvino,) = followed["acme"], followed["OpenVINO"]
    assert (acme["version"], acme["mark"], acme["answer"]) == ("1.10", "allowed", "shrink")
    assert openvino["mark"] != "other"
    same = json.loads((site / "questions/same.json").read_text())["engines"]
    assert same["acme"][0]["answer"] == "input-times-stride"
    assert same["OpenVINO"][0]["answer"] == "no-padding"
    texts = (site / "texts.html").read_text()
    disputed = {reading.name for dialect in DIALECTS.values() for reading in dialect.disputed}
    assert disputed
    assert all(f'id="{name}"' in texts for name in disputed)


def test_it_says_what_crashes_and_what_changed(site: Path) -> None:
    """A call that ends the process, and what became of the calls since the release before."""
    crashes = json.loads((site / "engines/acme.json").read_text())["crashes"]
    assert [crash["valid"] for crash in crashes] == [True, True]
    assert "2: 2 valid, 0 invalid" in (site / "index.html").read_text()
    # A waiver names one of them.
    page = (site / "engines/acme.html").read_text()
    assert "Without a name yet, acme 1.10" in page
    assert "2 valid calls, such as" in page
    assert "It was not asked in graphs." in page
    changes = (site / "changes.html").read_text()
    assert "acme 1.2" in changes
    assert "SIGSEGV" in changes or "dies" in changes
    assert "1 call: right → crashes" in changes
    assert re.findall(r"<h4>(.*?): \d+ calls", changes)[0] == "Worse"


def test_each_question_of_geometry_is_drawn(site: Path) -> None:
    """And each answer to a rule that gives an output has a row of its own, if it gives another output."""
    page = (site / "questions/negative-same.html").read_text()
    assert page.count('class="row"') >= 4
    drawn = [q.key for q in list_questions() if "<svg" in (site / "questions" / f"{q.key}.html").read_text()]
    assert {"same", "same-lower", "output-padding", "sized-explicit"} <= set(drawn)


def test_the_drawings_of_same_upper_and_same_lower_show_how_they_differ(corpus: Corpus) -> None:
    """Pads that are not equal: one more at the end for SAME_UPPER, one more at the beginning for SAME_LOWER."""
    simplest = [(case, describe(case)) for case in sorted(corpus.cases("gate"), key=lambda case: case.simplicity)]
    simplest = [(case, asked) for case, asked in simplest if case.x.shape[2:] and case.x.shape[-1]]
    wanted = {question.key: question for question in list_questions() if question.key in {"same-upper", "same-lower"}}
    for name, question in wanted.items():
        drawing = draw_question(question, simplest)
        assert drawing is not None
        (_, _), (_, reached), (_, output) = drawing.rows
        begin, end = output[0][0], reached[-1][0] - output[-1][0]
        assert min(begin, end) >= 0
        assert (begin > end, begin < end) == (name == "same-lower", name == "same-upper")


def test_what_others_write_is_text(site: Path) -> None:
    for file in site.rglob("*.html"):
        assert "img" not in Links(file).tags, file
        assert not any(address.startswith("javascript") for address in Links(file).addresses)
    index = (site / "index.js").read_text()
    assert index.startswith("(window.TCONV ??= {}).index = ")
    assert any(HOSTILE in title for title, _, _ in json.loads(index.partition(" = ")[2].rstrip(";\n")))


def test_nothing_is_requested_from_elsewhere(site: Path) -> None:
    for file in site.rglob("*"):
        if file.suffix in {".css", ".js", ".html"}:
            text = file.read_text(encoding="utf-8")
            assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|\bimport\b *\(", text), file
            assert "default-src 'none'" in text or file.suffix != ".html"


def test_a_call_finds_the_recorded_calls_that_are_like_it(site: Path) -> None:
    """Each recorded valid call is counted once for each run, under its own words."""
    data = json.loads((site / "calls.js").read_text().partition(" = ")[2].rstrip(";\n"))
    assert data["fields"] == list(FIELDS)
    numbers = range(len(data["runs"]))
    counted = [sum(sum(by_run.get(str(run), {}).values()) for _, by_run in data["calls"]) for run in numbers]
    recorded = [json.loads((site / f"engines/{name}.json").read_text())["runs"][0] for name in ("acme", "openvino")]
    assert counted == [sum(run["outcomes"].values()) for run in recorded]


def test_every_word_of_a_case_can_be_chosen(corpus: Corpus) -> None:
    """Of the valid cases of up to three axes, so that no recorded call is out of reach."""
    for case in corpus.cases("smoke"):
        asked = describe(case)
        if asked.is_valid and 3 <= len(case.x.shape) <= 5:
            assert all(asked.words[name] in values for name, (_, values) in FIELDS.items()), (case.id, asked)


def test_each_question_has_cases(corpus: Corpus) -> None:
    asked = [describe(case) for case in corpus.cases("gate")]
    assert [question.key for question in list_questions() if not any(map(question.is_of, asked))] == []


@pytest.mark.parametrize(
    ("dialect", "words"),
    [("geometry/1", "write the pads"), ("tflite/TransposeConv", "cannot be written")],
)
def test_a_mode_that_a_call_does_not_have_is_written_as_pads_if_it_has_pads(
    dialect: str, words: str, corpus: Corpus
) -> None:
    """A runtime with written pads can have the call; TFLite has neither SAME_LOWER nor pads."""
    cases = list(corpus.cases("smoke", ["padding/auto-pad/**"]))
    records = [Record(case.id, "acme", dialect, ver.NotApplicable("no word")) for case in cases]
    run = replace(run_of(cases, dialect, lambda _: ()), records=records)
    assessment = assess_with_corpus(run, None, corpus, strict=False, own=False)
    (engine,) = list_engines(make_report([assessment]).runs, corpus.find)
    question = next(question for question in list_questions() if question.key == "same-lower")
    assert engine.first.cell(question).words == words


def test_every_runner_is_of_an_engine() -> None:
    assert len(ENGINES) == 19
    assert {engine_name(name)[0] for name in engines()} <= set(ENGINES)
    assert engine_name("onnx-shape-inference") == engine_name("onnx-reference")
    assert engine_name("openvino-onnx") == ("openvino", "OpenVINO")
    assert engine_name("acme:Foo")[0] == "acme-foo"
