"""The HTML report, as far as its text tells; what a reader does with it is in `browser/test_page.py`."""

from __future__ import annotations

import math
import re
import shlex
import zipfile
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import yaml

from made_records import EVERY_RULING, EVERY_VERDICT, named, ruled, run_of, waiver
from page_blocks import Block, Row, rows
from tconv.cases.patterns import facts_of
from tconv.corpus import Corpus
from tconv.dialects import DIALECTS
from tconv.errors import FileError
from tconv.expectation.expected import Values
from tconv.expectation.problem import expressed
from tconv.gate.assessment import assess
from tconv.gate.status import RULINGS, Status
from tconv.gate.waivers import WaiverFile
from tconv.records.headers import BackendHeader, RunHeader, WaiversHeader
from tconv.records.record import CallSummary, FreshAnswer, Record, Sums
from tconv.records.record_file import Run
from tconv.reports import html, job_summary
from tconv.reports.between_runs.comparing import run_names
from tconv.reports.causes import find_causes
from tconv.reports.commands import CASE, reproduce_in
from tconv.reports.page import arrays as page_arrays
from tconv.reports.page.arrays import MOST
from tconv.reports.page.overview import answer, overviews
from tconv.reports.proposed_waivers import proposed
from tconv.reports.report import make_report
from tconv.reports.templates import environment
from tconv.verdict import kinds as ver
from tconv.vocabulary import DType
from test_wrong_input import GOLDEN, compare

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.gate.assessment import Assessment

DIALECT = "onnx/ConvTranspose-22"
HOSTILE = "</script><img src=x onerror=alert(1)><!--\u2028&amp;'\""
PAGES = GOLDEN / "page_texts.yaml"
EXACT = ver.Differed("exact", 1, 4, (0, 0, 0, 1), 7.0, 8.0)


def _record(case: str, verdict: ver.Verdict, artifact: str | None = None) -> Record:
    call = CallSummary({"strides": [2, 2], "auto_pad": "SAME_UPPER"}, [("X", [1, 1, 2, 2], "f32")], "NCX", "IOX")
    return Record(case, "acme", DIALECT, verdict, 0.25, artifact, None if isinstance(verdict, ver.Agreed) else call)


def _assessment(
    records: list[Record], waivers: list[dict[str, Any]] | None = None, version: str = "2.1", **header: object
) -> Assessment:
    given = {
        "tconv": "0.1.0",
        "backend": BackendHeader(name="acme", version=version, machine={"simd": "avx avx2"}),
        "dialect": DIALECT,
        "tier": "gate",
        "corpus": "sha256:c0ffee",
        "cases": len(records),
        "timeout": 30.0,
        "platform": {"machine": "riscv64"},
        "started": "2026-11-20T23:40:00Z",
    }
    run = Run(Path("acme.jsonl"), RunHeader.model_validate(given | header), records)
    file = WaiverFile.model_validate(
        {
            "format": 1,
            "backend": "acme",
            "unsupported": [{"where": {"dtype": "bf16"}, "because": "no bfloat16 unit"}],
            "waivers": waivers or [],
        }
    )
    return assess(run, file, facts_of)


def _waiver(**changes: object) -> dict[str, Any]:
    reason = {"clause": "doc, total_padding", "because": "a negative total is cropped twice"}
    place = {"name": "crops-twice", "cases": "padding/grow", "example": "padding/grow[strides=3]", "versions": ">=2"}
    return waiver(**reason | place | changes)


class _Page(HTMLParser):
    """What a browser would make of the page: tags, text outside scripts, and the JSON of data blocks."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.blocks: dict[str, Block] = {}
        self.inline: dict[str, str] = {}
        self._raw: str | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._raw = (dict(attrs).get("id") or tag) if tag in {"script", "style"} else None

    def handle_endtag(self, tag: str) -> None:
        if tag in {"script", "style"}:
            self._raw = None

    def handle_data(self, data: str) -> None:
        if self._raw in {"script", "style"}:
            self.inline[self._raw] = data
        elif self._raw is not None:
            self.blocks[self._raw] = Block.opened(data)
        else:
            self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())

    def links(self) -> list[str]:
        return [attributes["href"] or "" for tag, attributes in self.tags if tag == "a"]

    def rows(self) -> list[Row]:
        return rows(self.blocks["data"], self.blocks["details"], self.blocks["problems"])


def _beside(folder: Path, assessment: Assessment) -> Assessment:
    return replace(assessment, run=replace(assessment.run, path=folder / "acme.jsonl"))


@pytest.fixture
def page(tmp_path: Path) -> Callable[..., _Page]:
    def written(*assessments: Assessment) -> _Page:
        html.write(make_report([_beside(tmp_path, assessment) for assessment in assessments]), tmp_path / "index.html")
        return _Page((tmp_path / "index.html").read_text("utf-8"))

    return written


@pytest.fixture
def save(tmp_path: Path) -> Callable[..., str]:
    def saved(name: str, **arrays: Any) -> str:  # noqa: ANN401 - savez has other keywords, too
        (tmp_path / "artifacts").mkdir(exist_ok=True)
        np.savez_compressed(tmp_path / "artifacts" / name, **arrays)
        return f"artifacts/{name}"

    return saved


def _notes(written: _Page, number: int = 0) -> str:
    return " ".join(written.blocks[f"arrays-{number}"].values["notes"])


def test_text_of_others_is_never_markup(page: Callable[..., _Page]) -> None:
    """A hostile id, message, stderr, waiver or reason makes no element, and arrives as it was."""
    records = [
        _record(f"padding/{HOSTILE}", ver.RefusedValid(HOSTILE)),
        _record("padding/died", ver.Crashed(HOSTILE, HOSTILE)),
        _record("padding/not applicable", ver.NotApplicable(HOSTILE)),
        _record("padding/grow[strides=3]", EXACT),
        _record(f"{HOSTILE}/topic", ver.Agreed("exact")),
    ]
    waivers = [
        _waiver(because=HOSTILE, clause=HOSTILE, link=HOSTILE),
        _waiver(name=HOSTILE, cases="nothing", because=HOSTILE, link=HOSTILE),
    ]
    written = page(_assessment(records, waivers, patterns=(HOSTILE,), corpus=HOSTILE))
    assert "img" not in {tag for tag, _ in written.tags}
    assert [tag for tag, attributes in written.tags if any(name.startswith("on") for name in attributes)] == []
    assert written.rows()[0].case == f"padding/{HOSTILE}"
    assert ["Message", HOSTILE] in written.rows()[0].detail["prose"]
    assert " ".join(HOSTILE.split()) in written.words


def test_every_page_escapes_what_it_shows() -> None:
    """Only Markdown and programs are no HTML; theirs is quoted by filters."""
    package = files("tconv")
    templates = list(Path(str(package)).rglob("*.j2"))
    assert len(templates) > 10
    for path in templates:
        folder = str(path.parent.relative_to(str(package)))
        escapes = environment(folder).autoescape
        assert callable(escapes)
        assert escapes(path.name) is not path.name.endswith((".md.j2", ".py.j2")), path


def test_commands_ask_as_the_run_did(page: Callable[..., _Page]) -> None:
    """The first is that of JUnit, whatever the verdict; what ends without a result for the verdict is not offered."""
    asked = "--backend mini:Mini --option pads=swapped --timeout 30"
    backend = BackendHeader(name="acme", version="2.1", spec="mini:Mini", options={"pads": "swapped"})
    records = [_record(f"a/v[n={n}]", verdict) for n, verdict in enumerate(EVERY_VERDICT)]
    records.append(replace(_record("a/varies", EXACT), alone=FreshAnswer("agreed", same=False)))
    assessment = _assessment(records, backend=backend, path="my cases.yaml", repeat=3)
    members = {member.record.case: member for member in assessment.statuses}
    for row in page(assessment).rows():
        lines = {name: text.replace(CASE, row.case) for name, text in row.commands.items()}
        member = members[row.case]
        assert shlex.split(lines["run"]) == shlex.split(reproduce_in(assessment.run.header, member))
        about = f"'{row.case}' {asked} --dialect {DIALECT} --cases 'my cases.yaml'"
        offered = {"run", "show", "explain", "export", "shrink", "bug report"}
        match member.record.verdict:
            case ver.NotApplicable():
                offered = {"run", "show"}
            case ver.Agreed() | ver.Disputed():
                offered -= {"shrink", "bug report"}
            case _:
                assert lines["shrink"] == f"tconv shrink {about}"
                assert lines["bug report"].startswith(f"tconv export '{row.case}' --issue {asked}")
        assert lines.keys() == offered
        assert lines["show"] == f"tconv show '{row.case}' --dialect {DIALECT} --cases 'my cases.yaml'"
    assert "--jobs 1" in lines["run"]


def made_pages() -> dict[str, list[Assessment]]:
    wrong = [_record(f"padding/x[s={n}]", EXACT) for n in range(2)]
    undeclared = [_record(f"groups/x[n={n}]", ver.Unsupported("no symbols")) for n in range(5)]
    agreed = [
        _record("padding/grow[strides=2]", ver.Agreed("exact", ("cropped",))),
        _record("types/half[dtype=f16]", ver.Agreed("bound", ("reduced-precision",))),
    ]
    summed = replace(_record("a/b", ver.Agreed("bound")), sums=Sums(DType.F16, "dense", 2, DType.F16))
    skipped = [
        _record(f"a/b[n={n}]", ver.NotApplicable(f"pads must be absent (got ({n}, 1)) [pads: attribute pads, 'x']"))
        for n in range(4)
    ]
    skipped += [_record(f"a/c[dtype=bf16,n={n}]", ver.Unsupported(f"NOT_IMPLEMENTED {n}")) for n in range(3)]
    waivers = [
        _waiver(),
        _waiver(name="old", cases="types/half", example="types/half[dtype=f16]"),
        _waiver(name="lost", cases="types/half", example="groups/plain"),
    ]
    waived = _record("padding/grow[strides=3]", EXACT)
    every = _assessment([*wrong, *undeclared, *agreed, summed, *skipped, waived], waivers, cases=1000)
    green = _assessment([*agreed, waived], [_waiver()])
    strict = WaiversHeader(file="none", strict=True)
    green.run.header = green.run.header.model_copy(update={"waivers": strict})
    return {"wrong and undeclared": [every], "undeclared": [_assessment(undeclared)], "green": [green]}


def test_a_page_says_what_its_golden_file_has(page: Callable[..., _Page], tmp_path: Path) -> None:
    entries = yaml.safe_load(PAGES.read_text(encoding="utf-8"))
    nodes = [page(*made_pages()[entry["runs"]]).text for entry in entries]
    texts = ["\n".join(filter(None, (" ".join(text.split()) for text in of))) for of in nodes]
    compare(PAGES, [text.replace(f"{tmp_path}/", "") for text in texts])


def test_policy_allows_the_own_script_and_style_and_nothing_else(page: Callable[..., _Page]) -> None:
    written = page(_assessment([_record("a/b", EXACT)]))
    policy = next(a["content"] or "" for tag, a in written.tags if a.get("http-equiv") == "Content-Security-Policy")
    for name in ("script", "style"):
        digest = b64encode(sha256(written.inline[name].encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "innerHTML" not in written.inline["script"]
    assert not re.search(r"@import|url\(", written.inline["style"])


def test_runs_that_are_red_for_different_reasons_have_one_page(page: Callable[..., _Page]) -> None:
    """Reasons of different kinds have no order among themselves."""
    crashed = _assessment([_record("c/1", ver.Crashed("signal 11", ""))])
    stale = _assessment([_record("c/1", ver.Agreed("exact"))], [_waiver(example="c/1", cases="c/*")], version="2.2")
    text = " ".join(page(stale, crashed).text)
    assert "acme 2.1" in text
    assert "acme 2.2" in text


def test_totals_by_status_are_there_without_scripts(page: Callable[..., _Page]) -> None:
    """Each count of the matrix is a link to the filter that shows these records."""
    records = [
        *(_record(f"padding/grow[strides={n}]", EXACT) for n in range(3)),
        *(_record(f"groups/plain[groups={n}]", ver.Agreed("exact")) for n in range(5)),
    ]
    written = page(_assessment(records))
    counts = {(a["href"], a["aria-label"]) for tag, a in written.tags if tag == "a" and "aria-label" in a}
    key, name = "backend=acme-2.1:onnx/ConvTranspose-22", "acme 2.1, onnx/ConvTranspose-22"
    wanted = {(f"#{key}&status=failed", f"3 failed, {name}"), (f"#{key}&status=passed", f"5 passed, {name}")}
    assert wanted <= counts
    assert not any("0 " in (label or "")[:2] for _, label in counts)


def test_failures_stand_by_cause_without_scripts(page: Callable[..., _Page]) -> None:
    """One explanation is one line, whatever the sweep, with a link to one of its cases."""
    records = [replace(_record(f"padding/grow[s={n}]", EXACT), diagnosis=named("pads-exchanged")) for n in range(3)]
    records += [replace(_record("groups/plain", ver.WrongShape((1,), (2,))), diagnosis=named("pads-exchanged"))]
    records += [_record(f"bias/all{n}", ver.BackendError(f"no node {n}")) for n in range(103)]
    written = page(_assessment(records))
    first, second = written.words.index("message: no node #"), written.words.index("as if pads-exchanged")
    # Wrong answers are more severe than calls without an answer.
    assert second < first
    assert re.search(r"example bias/all0 message: no node # details, next steps .* 103 ✗ acme", written.words)
    assert re.search(r"example groups/plain as if pads-exchanged details, next steps .* 4 ✗ acme", written.words)
    assert "Reproduce tconv explain groups/plain" in written.words
    assert "Waive tconv waivers propose " in written.words
    assert any("&case=bias/all0&" in link for link in written.links())
    various = page(_assessment([_record(f"bias{n}/all", EXACT) for n in range(103)]))
    assert "91 more causes" in various.words
    assert "and 3 more" in various.words


def _sized(case: str, side: int, verdict: ver.Verdict, *names: str) -> Record:
    record = replace(_record(case, verdict), diagnosis=named(*names))
    return replace(record, call=CallSummary({}, [("X", [1, 1, side, side], "f32")], "NCX", "IOX"))


def test_a_cause_has_one_example_in_all_reports(page: Callable[..., _Page]) -> None:
    """The smallest that is nothing but the cause, of no invalid call and not empty, with its own numbers."""
    other = ver.Differed("exact", 1, 9, (0, 0, 3), 3.0, 4.0)
    shown = "padding/grow[a-long-name=yes]"
    records = [
        _sized("invalid/x", 1, other, "pads-exchanged"),
        _sized("padding/both", 2, other, "pads-exchanged", "filter-flipped"),
        _sized("empty/e", 0, other, "pads-exchanged"),
        _sized(shown, 3, ver.Differed("exact", 349, 528, (0, 0, 3), 3.0, 4.0), "pads-exchanged"),
        _sized("padding/x", 4, other, "pads-exchanged"),
    ]
    assessment = _assessment(records)
    written = page(assessment)
    assert f"example {shown} " in written.words
    assert "for example, 349 of 528 elements" in written.words
    (cause,) = find_causes(assessment, Status.FAILED)
    assert cause.example == shown
    assert f"tconv explain '{shown}'" in job_summary.markdown(make_report([assessment]))
    assert f"example: {shown}" in proposed(assessment)
    ambiguous = _assessment(records[:2])
    assert find_causes(ambiguous, Status.FAILED)[0].example == "invalid/x"


def test_the_answer_counts_what_came_of_calls() -> None:
    """In words that a reader knows who comes for the first time, the most severe first; nothing of what is waived."""
    verdicts = [
        EXACT,
        replace(EXACT, wrong=3),
        ver.Crashed("SIGSEGV", ""),
        ver.RefusedValid("no"),
        ver.BackendError("x"),
    ]
    records = [_record(f"a/b[n={n}]", verdict) for n, verdict in enumerate([*verdicts, ver.Unsupported("later")])]
    records.append(_record("padding/grow[strides=3]", EXACT))
    runs = overviews(make_report([_assessment(records, [_waiver()])]).runs)
    counts = "1 crash, 2 wrong answers, 1 call without an answer, 1 refusal"
    assert answer(runs) == f"acme: {counts}. Not declared as unsupported: 1"


def test_a_cause_is_a_line_for_all_runs(page: Callable[..., _Page]) -> None:
    """What fails alike on two backends is counted for each in one line; what is waived or disputed has its line too."""
    records = [replace(_record(f"padding/x[s={n}]", EXACT), diagnosis=named("pads-exchanged")) for n in range(3)]
    waived = [_record("padding/grow[strides=3]", EXACT), _record("groups/plain", ver.Agreed("exact"))]
    disputed = [_record("same/odd", ver.Disputed(("negative-same-shrunk",), "exact"))]
    written = page(_assessment([*records, *waived], [_waiver()]), _assessment([*records[:2], *disputed], version="3.0"))
    assert sorted((row.run, row.case, row.cause) for row in written.rows() if row.cause) == [
        (0, "padding/grow[strides=3]", 3),
        (0, "padding/x[s=0]", 1),
        (0, "padding/x[s=1]", 1),
        (0, "padding/x[s=2]", 1),
        (1, "padding/x[s=0]", 1),
        (1, "padding/x[s=1]", 1),
        (1, "same/odd", 2),
    ]
    causes = written.blocks["data"].values["causes"]
    assert causes[0]["words"].startswith("Returns wrong values: pads of begin and end are exchanged")
    assert causes[1]["words"].startswith("Follows another interpretation that the text allows: under SAME_*")
    words = "crops-twice: a negative total is cropped twice"
    assert causes[2] == {
        "name": causes[2]["name"],
        "words": words,
        "clause": "doc, total_padding",
        "rule": "",
    }
    assert len({cause["name"] for cause in causes}) == 3
    assert "Red. acme 2.1: 3 wrong answers. acme 3.0: 2 wrong answers" in written.words


def test_what_became_worse_than_the_baseline_makes_the_page_red(tmp_path: Path) -> None:
    """The answer says so where nothing failed; each record has its transition, and the run a link to those of each."""
    agreed = ver.Agreed("exact")
    before = _assessment([_record(case, agreed) for case in ("a/b[dtype=bf16]", "a/c", "a/d")])
    declared = _record("a/b[dtype=bf16]", ver.Unsupported("no kernel"))
    after = _assessment([declared, _record("a/c", agreed)], version="2.2")
    html.write(make_report([after], [before]), tmp_path / "index.html")
    page = _Page((tmp_path / "index.html").read_text("utf-8"))
    assert "Red. 1 worse than acme 2.1" in page.words
    assert ", 1 case became worse (1 new, 0 changed, 0 fixed, 1 gone, 1 as before)" in page.words
    assert "1 new , 1 gone" in page.words
    assert " green" not in page.words
    run = "acme-2.2:onnx/ConvTranspose-22"
    assert {f"#backend={run}&since=new", f"#case=a/b%5Bdtype=bf16%5D&run={run}"} <= set(page.links())
    data = page.blocks["data"]
    assert [data.values["transitions"][number - 1] for number in data.arrays["since"] if number] == ["new"]


@pytest.mark.parametrize(
    "link",
    [
        "javascript://x%0aalert(1)",
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "//x",
        "http:",
        "h][",
    ],
)
def test_only_addresses_of_the_web_become_links(page: Callable[..., _Page], link: str) -> None:
    written = page(_assessment([_record("padding/grow[strides=3]", EXACT)], [_waiver(link=link)]))
    (waiver,) = written.blocks["data"].values["waivers"]
    assert (waiver["href"], waiver["link"]) == ("", link)
    stale = [_waiver(link=link, verdict={"kind": "crashed"})]
    assert link not in page(_assessment([_record("padding/grow[strides=3]", EXACT)], stale)).links()


def test_zeros_of_either_sign_are_shown_apart(page: Callable[..., _Page]) -> None:
    verdicts = [ver.Differed("exact", 1, 4, (0, 0, 0, 1), zero, 8.0) for zero in (0.0, -0.0)]
    rows = page(_assessment([_record(f"a/{n}", verdict) for n, verdict in enumerate(verdicts)])).rows()
    assert ["must be -0" in row.phrase for row in rows] == [False, True]


def test_every_verdict_has_its_row(page: Callable[..., _Page]) -> None:
    assert {type(ruling) for ruling in EVERY_RULING} == set(RULINGS.values())
    rulings = {f"a/{n:02}": ruling for n, ruling in enumerate(EVERY_RULING)}
    records = [_record(record.case, record.verdict) for record in run_of(rulings).records]
    rows = page(ruled(_assessment(records), rulings)).rows()
    assert [row.kind for row in rows] == [ruling.kind for ruling in EVERY_RULING]
    assert all("\n" not in row.phrase and row.phrase for row in rows)
    (died,) = (row for row in rows if row.kind == "crashed")
    assert ["Standard error, its end", "ouch"] in died.detail["prose"]


def test_call_is_told_in_the_words_of_the_dialect(page: Callable[..., _Page]) -> None:
    """Attributes, inputs with shapes and types, and layouts are there; of an unknown case as its record has them."""
    written = page(_assessment([_record("a/b", EXACT), _record("a/c", ver.Agreed("exact"))]))
    assert written.rows()[0].problem == {
        "attribute strides": "[2, 2]",
        "attribute auto_pad": "SAME_UPPER",
        "input 0": ["X", "[1, 1, 2, 2]", "f32"],
        "layouts": ["NCX", "IOX"],
    }
    assert (written.rows()[1].detail, written.rows()[1].problem) == ({}, {})


def test_every_record_has_call_geometry_and_what_is_owed(tmp_path: Path) -> None:
    corpus = Corpus.load()
    ids = {
        "padding/auto-pad/same-upper-by-hand": ver.Agreed("exact"),
        next(corpus.ids("smoke", ["strides-dilations"])): ver.Crashed("signal 11", ""),
        next(corpus.ids("smoke", ["invalid/attributes/alone[fault=stride-zero]"])): ver.RefusedValid("no"),
    }
    records = [Record(case, "acme", DIALECT, verdict) for case, verdict in sorted(ids.items())]
    html.write(make_report([_beside(tmp_path, _assessment(records))]), tmp_path / "index.html", corpus.find)
    for row in _Page((tmp_path / "index.html").read_text("utf-8")).rows():
        problem = row.problem
        assert "layouts" in problem
        assert "input 0" in problem
        if "refusal" in problem:
            continue
        expected = expressed(corpus.case(row.case), DIALECTS[DIALECT])
        assert isinstance(expected.expectation, Values)
        geometry = expected.expectation.primary.geometry
        for name in ("spatial", "kernel", "strides", "dilations", "pads_begin", "output"):
            assert problem[name] == list(getattr(geometry, name))
        assert expected.output is not None
        assert problem["output"] == problem["shape"][2:] == list(expected.output.shape[2:])
    assert any("refusal" in row.problem for row in _Page((tmp_path / "index.html").read_text("utf-8")).rows())


def test_details_and_phrases_are_there_once(page: Callable[..., _Page]) -> None:
    """What many records say is one text, so that a large run is a small page."""
    records = [_record(f"a/b[n={n}]", ver.RefusedValid("the same long message")) for n in range(500)]
    written = page(_assessment(records))
    assert written.blocks["data"].values["phrases"] == ["the same long message"]
    assert written.blocks["details"].values["prose"] == [[["Message", "the same long message"]]]


@pytest.mark.thorough
def test_a_hundred_thousand_records_are_less_than_three_megabytes(page: Callable[..., _Page], tmp_path: Path) -> None:
    """The budget of the page, for cases of which each has labels and facts of its own."""
    records = [
        _record(f"t{n % 7}/f[strides={n % 5},n={n:06}]", EXACT if n % 100 == 0 else ver.Agreed("exact"))
        for n in range(100_000)
    ]
    page(_assessment(records))
    assert (tmp_path / "index.html").stat().st_size < 3_000_000


def test_a_case_has_the_facts_that_its_id_does_not_show(page: Callable[..., _Page]) -> None:
    """The search takes the command line's patterns; cases of the same facts share them."""
    records = [_record(f"a/b[n={n}]", EXACT) for n in range(3)]
    facts = {f"a/b[n={n}]": {"n": str(n), "rank": "3" if n else "2"} for n in range(3)}
    written = page(replace(_assessment(records), facts=facts))
    assert [row.facts["rank"] for row in written.rows()] == ["2", "3", "3"]
    assert written.blocks["data"].values["facts"]["rank"] == ["2", "3"]


def test_several_runs_have_keys_of_their_own(page: Callable[..., _Page]) -> None:
    runs = [_assessment([_record("a/b", verdict)]) for verdict in (EXACT, ver.Agreed("exact"))]
    written = page(*runs, _assessment([_record("a/b", ver.Agreed("exact"))], version="3.0"))
    keys = [run["key"] for run in written.blocks["data"].values["runs"]]
    assert keys == [f"acme-2.1:{DIALECT}", f"acme-2.1:{DIALECT}~2", f"acme-3.0:{DIALECT}"]
    assert [row.run for row in written.rows()] == [0, 1, 2]
    assert "✗ Red. acme 2.1, onnx/ConvTranspose-22 (" in written.words
    assert f"#backend={keys[2]}&status=passed" in written.links()


def test_no_run_is_a_page_too(page: Callable[..., _Page]) -> None:
    assert page().rows() == []


def test_arrays_are_carried_as_they_are(page: Callable[..., _Page], save: Callable[..., str]) -> None:
    """Every element arrives, with what is not finite: in float32 where that loses nothing; no differences."""
    expected = np.array([[[[1.0, math.nan, math.inf, 2.0**53]]]])
    arrays = {
        "expected": expected,
        "actual": np.array([[[[1.0, math.nan, -math.inf, 2.0**53 + 2]]]]),
        "allowed": np.array([[[[1e-9, math.inf, 0.0, 0.0]]]]),
        "x": expected,
    }
    block = page(_assessment([_record("a/b", EXACT, save("a.npz", **arrays))])).blocks["arrays-0"]
    assert block.values == {"notes": [], "shapes": {name: [1, 1, 1, 4] for name in arrays}}
    for name, array in arrays.items():
        assert np.array_equal(block.arrays[name], array.ravel(), equal_nan=True)
    # In float32 the last elements would be equal.
    assert (block.arrays["expected"].dtype, block.arrays["actual"].dtype) == (np.float32, np.float64)


@pytest.mark.parametrize(("size", "carried"), [(page_arrays.LARGEST, True), (page_arrays.LARGEST + 1, False)])
def test_large_arrays_stay_in_the_artifact(
    page: Callable[..., _Page],
    save: Callable[..., str],
    size: int,
    carried: bool,  # noqa: FBT001
) -> None:
    path = save("a.npz", expected=np.zeros((1, 1, size)), x=np.zeros((1, 1, 2)))
    written = page(_assessment([_record("a/b", EXACT, path)]))
    assert ("expected" in written.blocks["arrays-0"].arrays) is carried
    assert "x" in written.blocks["arrays-0"].arrays
    assert (f"{size:,} elements" in _notes(written)) is not carried
    assert ("artifacts/a.npz" in _notes(written)) is not carried


def test_page_has_a_limit(
    page: Callable[..., _Page], save: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has no room is left out: operands before values, waived cases before failed ones."""
    values = np.random.default_rng(0).normal(size=(1, 1, 1000))
    path = save("a.npz", expected=values, x=values)
    records = [_record(case, EXACT, path) for case in ("padding/grow[strides=3]", "values/wide", "values/wider")]
    bare = [replace(record, artifact=None) for record in records]
    page(_assessment(bare, [_waiver()]))
    monkeypatch.setattr(html, "PAGE_LIMIT", (tmp_path / "index.html").stat().st_size + 25_000)
    blocks = page(_assessment(records, [_waiver()])).blocks
    assert {name: set(block.arrays) for name, block in blocks.items() if name.startswith("arrays-")} == {
        "arrays-1": {"expected"},
        "arrays-2": {"expected"},
    }
    assert (tmp_path / "index.html").stat().st_size <= html.PAGE_LIMIT


def test_each_cause_has_its_smallest_members(page: Callable[..., _Page], save: Callable[..., str]) -> None:
    """Of a cause with very many members only the smallest have their arrays; the page says which are there."""
    path = save("a.npz", expected=np.zeros((1, 1, 2)))
    records = [_record(f"a/b[n={n:03}]", EXACT, path) for n in range(MOST + 5)] + [_record("c/d", EXACT, path)]
    written = page(_assessment(records))
    there = {name for name in written.blocks if name.startswith("arrays-")}
    assert there == {f"arrays-{n}" for n in (*range(MOST), MOST + 5)}
    limits = next(attributes["data-limits"] for _, attributes in written.tags if attributes.get("id") == "data")
    assert limits == f"the {MOST} smallest members of each cause, and at most 24 MiB"


@pytest.fixture
def spoilt(tmp_path: Path) -> Path:
    """Return a folder of artifacts that cannot be shown, named after what is wrong."""
    folder = tmp_path / "reports"
    (folder / "folder.npz").mkdir(parents=True)
    np.savez(tmp_path / "secret.npz", expected=np.zeros(3))
    (folder / "link.npz").symlink_to(tmp_path / "secret.npz")
    (folder / "loop.npz").symlink_to("loop.npz")
    (folder / "no-zip.npz").write_bytes(b"\x93NUMPY no zip")
    (folder / "empty.npz").touch()
    np.savez(folder / "cut.npz", expected=np.arange(999.0))
    (folder / "cut.npz").write_bytes((folder / "cut.npz").read_bytes()[:700])
    np.savez(folder / "objects.npz", expected=np.array([{}], dtype=object))
    np.savez(folder / "text.npz", expected=np.array(["text"]))
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (3L,), }\n"
    python_2 = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    for name, content in (("no-array", b""), ("python-2", python_2)):
        with zipfile.ZipFile(folder / f"{name}.npz", "w") as archive:
            archive.writestr("expected.npy", content)
    return folder


CORRUPT = ("no-zip", "empty", "cut", "no-array", "objects", "text", "python-2", "folder", "loop")
ELSEWHERE = ("../secret.npz", "artifacts/../../secret.npz", "{root}/secret.npz", "link.npz")


@pytest.mark.parametrize(
    ("artifact", "said"),
    [
        ("gone.npz", "missing"),
        *((f"{name}.npz", "not shown") for name in CORRUPT),
        *((path, "not shown") for path in ("a\0b", "x" * 5000)),
        *((path, "leaves the report's folder") for path in ELSEWHERE),
    ],
)
def test_an_artifact_that_cannot_be_shown_is_told(artifact: str, said: str, spoilt: Path) -> None:
    """Whatever is wrong with the file or its path, the page is written and says so; no pickle is loaded."""
    record = _record("a/b", EXACT, artifact.format(root=spoilt.parent))
    html.write(make_report([_beside(spoilt, _assessment([record]))]), spoilt / "index.html")
    written = _Page((spoilt / "index.html").read_text("utf-8"))
    assert written.blocks["arrays-0"].arrays == {}
    assert said in _notes(written)
    assert artifact not in {"gone.npz", "cut.npz"} or artifact in _notes(written)


def test_artifacts_lie_beside_the_records_that_name_them(tmp_path: Path) -> None:
    assessments = []
    for number, name in enumerate(("one", "two")):
        folder = tmp_path / name
        folder.mkdir()
        np.savez(folder / "a.npz", expected=np.full(3, float(number)), actual=np.full(3, 9.0))
        assessments.append(_beside(folder, _assessment([_record("a/b", EXACT, "a.npz")])))
    html.write(make_report(assessments), tmp_path / "page" / "index.html")
    blocks = _Page((tmp_path / "page" / "index.html").read_text("utf-8")).blocks
    for number in range(2):
        assert blocks[f"arrays-{number}"].arrays["expected"].tolist() == [number] * 3


def test_page_is_written_as_a_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    destination = tmp_path / "deep" / "index.html"
    html.write(make_report([]), destination)
    before = destination.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(FileError, match="No space"):
        html.write(make_report([_assessment([_record("a/b", EXACT)])]), destination)
    assert destination.read_bytes() == before
    assert [path.name for path in destination.parent.iterdir()] == ["index.html"]


def test_torn_bytes_of_others_are_written(page: Callable[..., _Page]) -> None:
    """A lone surrogate, as a torn byte decodes to, stops no report."""
    written = page(
        _assessment([_record("a/\udcff", ver.NotApplicable("\udcff")), _record("b/c", ver.BackendError("\udcff"))])
    )
    assert len(written.rows()) == 2


def test_runs_of_one_backend_are_told_apart_by_their_files() -> None:
    """In Markdown as on the page; a run that is alone in its backend, options and dialect needs no file."""
    records = [_record("a/b", EXACT)]
    alone = _assessment(records, version="3.0")
    same = [_assessment(records) for _ in range(2)]
    runs = [alone, *(replace(each, run=replace(each.run, path=Path(f"{n}.jsonl"))) for n, each in enumerate(same))]
    names = [f"acme 3.0, {DIALECT}", *(f"acme 2.1, {DIALECT} ({n}.jsonl)" for n in range(2))]
    assert run_names(runs) == names
    assert all(f"### {name}" in job_summary.markdown(make_report(runs)) for name in names)
    assert [run.name for run in overviews(make_report(runs).runs)] == names
