"""The atlas: whole, from records and rules alone, and safe whatever a waiver or a runtime says."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest
from click.testing import CliRunner

from made_records import waiver
from tconv.cli.atlas_command import command
from tconv.comparison.answers import Opened
from tconv.corpus import Corpus
from tconv.datafiles import data_folder
from tconv.dialects import DIALECTS
from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.rules import QUESTIONS, Answer
from tconv.gate.assessment import assess
from tconv.gate.waivers import WaiverFile
from tconv.records.headers import header_line
from tconv.records.record import record_line
from tconv.reports import atlas
from tconv.reports.atlas import wording
from tconv.reports.atlas.summaries import brief, formula, listed
from tconv.verdict import kinds as ver
from test_answers import run_of

if TYPE_CHECKING:
    from tconv.records.record_file import Run

ONNX, OPENVINO = "onnx/ConvTranspose-22", "openvino/ConvolutionBackpropData-1"
HOSTILE = "<script>alert(1)</script> | `x` [a](javascript:b)"


@pytest.fixture(scope="module")
def porting() -> Corpus:
    """Return the topic that the runs are of, whose atlas is made in a fraction of the time that all topics take."""
    return Corpus.load(data_folder("cases") / "porting", data_folder("cases"))


@pytest.fixture(scope="module")
def runs(porting: Corpus) -> dict[str, Run]:
    """Return a run of each of two dialects; ONNX's runtime mixes its answers to a negative total."""
    cases = list(porting.cases("gate"))
    shrunk = next(reading for reading in DIALECTS[ONNX].disputed if reading.name == "negative-same-shrunk")
    return {
        ONNX: run_of(cases, ONNX, lambda case: () if case.attributes.output_padding else (shrunk,)),
        OPENVINO: run_of(cases, OPENVINO, lambda _: ()),
    }


@pytest.fixture(scope="module")
def made(porting: Corpus, runs: dict[str, Run]) -> atlas.Atlas:
    """Return the atlas of both runs."""
    return atlas.atlas([assess(run, None, porting.facts) for run in runs.values()], porting)


class _Tags(HTMLParser):
    """The tags of a page, checked to be closed in their order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in {"meta", "link", "br"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_every_question_and_answer_has_words() -> None:
    """A new question, answer or piece of advice without words, or words of something that is gone, is noticed."""
    assert set(wording.QUESTIONS) == set(QUESTIONS)
    assert set(wording.ANSWERS) == {answer for enum in (*get_args(Answer), Opened) for answer in enum}
    assert set(wording.ADVICE) <= set(CONSTRAINTS)


def test_the_matrix_says_who_follows_what(made: atlas.Atlas) -> None:
    """Each question has every text's answer and every run's, marked where a runtime mixes or leaves its text."""
    same = next(question for question in made.questions if question.name == "same")
    assert [text.dialect.name for text in same.texts] == [name for name in DIALECTS if name != "geometry/1"]
    assert {
        follows.run.dialect.name: [(cell.answer, cell.standing) for cell in follows.cells] for follows in same.follows
    } == {
        ONNX: [("input-times-stride", "text")],
        OPENVINO: [("no-padding", "text")],
    }
    negative = next(question for question in made.questions if question.name == "negative_same")
    mixed = next(follows for follows in negative.follows if follows.run.dialect.name == ONNX)
    assert mixed.inconsistent
    assert {(cell.answer, cell.standing) for cell in mixed.cells} == {("floor", "text"), ("shrink", "disputed")}


def test_examples_carry_call_and_output(made: atlas.Atlas) -> None:
    """The smallest case in the dialect's words, and the elements that came back: 1, 2, 3 under powers of ten."""
    same = next(question for question in made.questions if question.name == "same")
    example = next(follows for follows in same.follows if follows.run.dialect.name == OPENVINO).cells[0].example
    assert "auto_pad=same_" in example.call
    assert example.output
    assert all(re.fullmatch(r"[0-3]+", number) for number in example.output.split())


def test_rewritings_are_verified_by_the_runs(made: atlas.Atlas) -> None:
    """Where both runs returned the source's output the row says so; where one was not asked, that it is computed."""
    pair = next(pair for pair in made.pairs if (pair.source.name, pair.target.name) == (OPENVINO, ONNX))
    ported = next(ported for ported in pair.changes if ported.change.combination == "same_upper with output_shape")
    assert ported.verified == "acme 1.2.0 → acme 1.2.0"
    assert "pads=" in ported.rewriting
    other = next(
        pair for pair in made.pairs if (pair.source.name, pair.target.name) == (OPENVINO, "onnx/ConvTranspose-1")
    )
    assert {ported.verified for ported in other.changes} == {"computed; no run of the target"}


def test_contradictions_cite_both_sides(made: atlas.Atlas) -> None:
    """Every disputed reading of every text stands there, with the clause that it is against."""
    contradictions = {(contradiction.dialect.name, contradiction.says) for contradiction in made.contradictions}
    for name in DIALECTS:
        assert {(name, reading.says) for reading in DIALECTS[name].disputed} <= contradictions
    assert all(contradiction.supports for contradiction in made.contradictions)
    assert sum(not contradiction.denies for contradiction in made.contradictions) < len(made.contradictions) / 2


@pytest.mark.thorough
def test_the_command_writes_both(runs: dict[str, Run], tmp_path: Path) -> None:
    """Two files about the whole corpus, named on standard output; a folder that is not there is made."""
    markdown, page = tmp_path / "deep" / "atlas.md", tmp_path / "atlas.html"
    arguments = ["--markdown", str(markdown), "--html", str(page)]
    for number, run in enumerate(runs.values()):
        arguments.append(str(tmp_path / f"{number}.jsonl"))
        lines = [header_line(run.header), *map(record_line, run.records)]
        Path(arguments[-1]).write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert (done.exit_code, done.stdout.splitlines()) == (0, [f"atlas {markdown}", f"atlas {page}"])
    assert markdown.read_text(encoding="utf-8").startswith("<!-- Written by `tconv atlas`")
    assert "acme 1.2.0" in page.read_text(encoding="utf-8")


def test_the_page_is_whole_and_needs_nothing_else(made: atlas.Atlas) -> None:
    """Tags are closed, links within it lead somewhere, and nothing is fetched."""
    page = _Tags(atlas.html(made))
    assert page.open == []
    ids = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    links = [attributes["href"] or "" for tag, attributes in page.tags if tag == "a"]
    within = {link[1:] for link in links if link.startswith("#")}
    assert within
    assert within <= ids
    assert not [tag for tag, _ in page.tags if tag in {"img", "iframe"}]
    assert not [attributes for _, attributes in page.tags if "src" in attributes]


def test_the_markdown_is_a_summary(made: atlas.Atlas) -> None:
    """It has every question, reading and way from text to text, and no example: the page has those."""
    text, page = atlas.markdown(made), atlas.html(made)
    assert len(text) < len(page) / 4
    for name in [question.name for question in made.questions] + [each.about for each in made.contradictions]:
        assert f"| {name} |" in text
    assert text.count("\n| onnx/CT-22 |") == len([pair for pair in made.pairs if pair.source.name == ONNX])
    examples = [ported.before.case for pair in made.pairs for ported in pair.changes]
    assert examples
    assert not [case for case in examples if case in text]


def test_the_markdown_says_a_long_name_once(made: atlas.Atlas) -> None:
    """The vendor of texts that follow each other, what stands beside a padding mode, and all that the taps reach."""
    assert listed(["onnx/CT-1", "onnx/CT-11", "onednn/CT-1"]) == "onnx/CT-1, CT-11, onednn/CT-1"
    assert brief("same_lower with output_shape with output_padding") == "same_lower + os + op"
    assert formula("min(X*s, (X-1)*s + (K-1)*d + 1 + op)") == "min(X*s, full + op)"
    text = atlas.markdown(made)
    assert "with output_padding (" not in text
    assert re.search(r" \+ op \(\d+\)", text)


def test_tables_of_the_markdown_are_regular(made: atlas.Atlas) -> None:
    """Every row of a table has as many cells as its head; the same atlas is the same text."""
    text = atlas.markdown(made)
    assert text == atlas.markdown(made)
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert len(tables) == 9
    for table in tables:
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(widths) == 1, table[:200]
    assert not re.search(r"\|  +\||\| +$", text, re.MULTILINE)


def _waived(porting: Corpus, runs: dict[str, Run], **keys: Any) -> atlas.Atlas:  # noqa: ANN401 - of each key's type
    """Return an atlas in which something is waived."""
    record = runs[ONNX].records[0]
    given = {"cases": "porting/**", "example": record.case, "verdict": {"kind": "differed"}, **keys}
    file = WaiverFile.model_validate({"format": 1, "backend": "acme", "waivers": [waiver(**given)]})
    assessment = assess(runs[ONNX], file, porting.facts)
    first, *others = assessment.statuses
    waived = replace(first, record=record, waiver=file.waivers[0])
    return atlas.atlas([replace(assessment, statuses=(waived, *others))], porting)


def test_words_of_others_are_escaped(porting: Corpus, runs: dict[str, Run]) -> None:
    """A waiver may say anything: it is text in either format, and a link only where it is one."""
    made = _waived(porting, runs, because=HOSTILE, clause=HOSTILE, link="javascript:alert(1)")
    page, text = atlas.html(made), atlas.markdown(made)
    assert HOSTILE.partition(" ")[0] not in page
    assert "javascript:alert" not in page + text
    assert "<script" not in text.replace(r"\<script", "")
    assert "&lt;script&gt;alert(1)" in page
    assert '<a href="https://example.org/1"' in atlas.html(_waived(porting, runs, link="https://example.org/1"))


def test_a_link_does_not_end_before_it_ends(porting: Corpus, runs: dict[str, Run]) -> None:
    """What would close a link of Markdown, or open another, is part of the address."""
    made = _waived(porting, runs, link="https://example.org/1>) <img src=x> [a](https://e")
    assert "<img" not in atlas.markdown(made) + atlas.html(made)
    assert "](https://example.org/1%3E%29%20%3Cimg" in atlas.markdown(made)


def test_a_red_run_is_told_to_be_red(porting: Corpus, runs: dict[str, Run]) -> None:
    """What failed is counted, and the atlas says that there is more than it says."""
    lost = replace(runs[ONNX], records=[replace(r, verdict=ver.Died("SIGSEGV", "")) for r in runs[ONNX].records])
    made = atlas.atlas([assess(lost, None, porting.facts), assess(runs[OPENVINO], None, porting.facts)], porting)
    count = len(lost.records)
    for text in (atlas.markdown(made), atlas.html(made)):
        assert "is red" in text
        assert f"{count} cases failed without a waiver" in text
    pair = next(pair for pair in made.pairs if (pair.source.name, pair.target.name) == (OPENVINO, ONNX))
    ported = next(ported for ported in pair.changes if ported.change.combination == "same_upper with output_shape")
    assert ported.verified == "computed; acme 1.2.0: died"


def test_the_machine_is_named_and_what_it_could_not_ask_is_no_zero(porting: Corpus, runs: dict[str, Run]) -> None:
    """Backends on one machine stand in one line; a waiver for other machines has no count, in both formats."""
    simd = {"processor": "Acme 3000", "cores": "2", "simd": "avx avx2"}
    backend = runs[ONNX].header.backend.model_copy(
        update={"machine": simd, "environment": {"ONEDNN_MAX_CPU_ISA": "AVX2"}}
    )
    here = replace(runs[ONNX], header=runs[ONNX].header.model_copy(update={"backend": backend}))
    elsewhere = waiver(dialects=[ONNX], machine={"with": ["amx_bf16"]}, example="porting/none")
    file = WaiverFile.model_validate({"format": 1, "backend": "acme", "waivers": [elsewhere]})
    made = atlas.atlas(
        [assess(here, file, porting.facts, own=False), assess(runs[OPENVINO], None, porting.facts)], porting
    )
    assert made.machines == {
        "Acme 3000, 2 cores, avx avx2, ONEDNN_MAX_CPU_ISA=AVX2": ["acme 1.2.0 (AVX2)"],
        "not recorded": ["acme 1.2.0"],
    }
    assert "| not recorded | all others |" in atlas.markdown(made)
    assert "not asked: for machines with amx_bf16" in atlas.markdown(made)
    assert "not asked: for machines with amx_bf16</td>" in atlas.html(made)
