"""A run and its baseline: what became worse, by cause, in every report, and the exit code that says so."""

from __future__ import annotations

import platform
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pytest

from made_records import AGREED, CASES, DIALECT, DIFFERED, facts, named, ruled, run_of, waiver, waiver_file
from played_backends import presented, records_of
from reporting import compared, json_of, paired
from small_corpus import HEAD, record_file, written
from tconv.corpus import Corpus
from tconv.dialects import DIALECTS
from tconv.errors import UsageError
from tconv.gate.assessment import assess
from tconv.gate.status import MixedReadings, ReadingChanged, Ruling
from tconv.records.headers import BackendHeader
from tconv.records.record import CallSummary, FreshAnswer
from tconv.records.record_file import read
from tconv.reports import html, job_summary, junit, plain, terminal
from tconv.reports.annotations import workflow_commands
from tconv.reports.between_runs.transitions import Transition
from tconv.reports.report import make_report, refuse_unpaired
from tconv.reports.terminal import show_comparison as show
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from small_corpus import Command
    from tconv.expectation.problem import Problem
    from tconv.gate.assessment import Assessment
    from tconv.vocabulary import Array

ONNX = "onnx/ConvTranspose-22"
REFUSED = ver.RefusedValid("no <b>kernel</b> for | this")
DISPUTED = ver.Disputed(("odd-total-at-the-end",), "exact")
EXCEEDS = ver.Imprecise("bound", 2, 8, (0, 0, 3), 3.0, 4.0, 2.5)
VARIES = FreshAnswer("agreed", same=False)


def run(verdicts: Mapping[str, Ruling], version: str = "1.2.0", *, waived: bool = False) -> Assessment:
    """Return a run that came to these verdicts, judged."""
    return ruled(assess(run_of(verdicts, version), waiver_file(waiver()) if waived else None, facts), verdicts)


@pytest.mark.parametrize(
    ("was", "now", "transition"),
    [
        (AGREED, DIFFERED, Transition.NEW),
        (AGREED, ver.Unsupported("later"), Transition.NEW),
        (AGREED, ver.AcceptedInvalid("pads-length"), Transition.NEW),
        (AGREED, ver.Agreed("shape"), Transition.NEW),
        (ver.Agreed("shape"), AGREED, Transition.FIXED),
        (ver.Agreed("shape"), ver.Agreed("shape"), None),
        (None, DIFFERED, Transition.NEW),
        (None, AGREED, None),
        (AGREED, None, Transition.GONE),
        (DIFFERED, AGREED, Transition.FIXED),
        (DIFFERED, ver.AcceptedInvalid("pads-length"), Transition.FIXED),
        (DIFFERED, ver.Crashed("SIGSEGV", ""), Transition.CHANGED),
        (AGREED, DISPUTED, Transition.NEW),
        (DIFFERED, DIFFERED, None),
        (ver.RefusedValid("no axis 1"), ver.RefusedValid("no axis 2"), None),
        (ver.RefusedValid("no axis 1"), ver.RefusedValid("no memory"), Transition.CHANGED),
    ],
)
def test_a_case_has_one_transition(was: ver.Verdict, now: ver.Verdict, transition: Transition | None) -> None:
    """By how bad its status is in both runs; where that is equal, by whether the failures are alike."""
    old, new = (run({CASES[3]: verdict} if verdict else {}) for verdict in (was, now))
    comparison = compared(old, new)
    assert [group.transition for group in comparison.groups] == ([transition] if transition else [])
    assert comparison.worse == (transition is Transition.NEW)
    assert comparison.same + comparison.added == (transition is None)


BEYOND = replace(DIFFERED, rule="bound")
SHRUNK, APPENDED = ver.Disputed(("shrunk",), "exact"), ver.Disputed(("appended",), "exact")
CHANGED = ReadingChanged("negative_sized", "appended", "shrunk", ("shrunk",), "exact")
NOT_ALLOWED = ver.Disputed(("appended-refused",), "refusal", message="no")


def judged(verdict: Ruling, *, waived: bool = False, after_others: bool = False, **more: Any) -> Assessment:  # noqa: ANN401
    """Return a run of one record with these fields, whose verdict a waiver covers if that is wanted."""
    made = run_of({CASES[0]: verdict})
    made.records = [replace(made.records[0], **more)]
    entry = waiver(verdict={"kind": verdict.kind}, versions="==1.*", **{"after-others": after_others})
    return ruled(assess(made, waiver_file(entry) if waived else None, facts), {CASES[0]: verdict})


@pytest.mark.parametrize(
    ("was", "now", "transition"),
    [
        # Readings decide what follows them, also if nothing else changed.
        ((SHRUNK, {}), (AGREED, {}), Transition.NEW),
        ((SHRUNK, {}), (APPENDED, {}), Transition.NEW),
        ((SHRUNK, {}), (replace(APPENDED, alike=("shrunk",)), {}), Transition.CHANGED),
        ((SHRUNK, {}), (NOT_ALLOWED, {}), Transition.NEW),
        ((NOT_ALLOWED, {}), (AGREED, {}), Transition.NEW),
        ((NOT_ALLOWED, {}), (replace(NOT_ALLOWED, readings=("other",)), {}), Transition.CHANGED),
        ((CHANGED, {}), (SHRUNK, {}), Transition.FIXED),
        ((CHANGED, {}), (CHANGED, {}), None),
        ((CHANGED, {}), (replace(CHANGED, choices=("appended",)), {}), Transition.NEW),
        ((CHANGED, {}), (replace(CHANGED, rule="refusal"), {}), Transition.NEW),
        # Of a wrong output the digests.
        ((DIFFERED, {"digest": "1"}), (DIFFERED, {"digest": "1"}), None),
        ((DIFFERED, {"digest": "1"}), (DIFFERED, {"digest": "2"}), Transition.NEW),
        ((DIFFERED, {"digest": "1"}), (ver.WrongShape((2,), (3,)), {"digest": "2"}), Transition.NEW),
        ((DIFFERED, {"digest": "1"}), (AGREED, {}), Transition.FIXED),
        ((DIFFERED, {"digest": "1"}), (SHRUNK, {}), Transition.FIXED),
        ((DIFFERED, {"digest": "1", "waived": True}), (DIFFERED, {"digest": "2", "waived": True}), Transition.NEW),
        ((DIFFERED, {"digest": "1", "waived": True}), (DIFFERED, {"digest": "2"}), Transition.NEW),
        ((DIFFERED, {"digest": "1"}), (DIFFERED, {"digest": "2", "waived": True}), Transition.NEW),
        # One misreading gives one output, and the last bits are those of a machine.
        ((BEYOND, {"digest": "1"}), (BEYOND, {"digest": "2"}), Transition.NEW),
        (
            (BEYOND, {"digest": "1", "diagnosis": named("pads-exchanged", "output-padding-is-zero")}),
            (BEYOND, {"digest": "2", "diagnosis": named("output-padding-is-zero")}),
            None,
        ),
        (
            (DIFFERED, {"digest": "1", "diagnosis": named("pads-exchanged")}),
            (DIFFERED, {"digest": "2", "diagnosis": named("pads-exchanged")}),
            Transition.NEW,
        ),
        ((EXCEEDS, {"digest": "1"}), (EXCEEDS, {"digest": "2"}), None),
        ((MixedReadings((), "odd_sized", "begin"), {}), (DIFFERED, {"digest": "1"}), Transition.NEW),
        # Without values the shape is compared.
        ((DIFFERED, {"digest": "1"}), (DIFFERED, {}), None),
        ((ver.WrongShape((2,), (3,)), {"digest": "1"}), (ver.WrongShape((2,), (3,)), {}), None),
        ((ver.WrongShape((2,), (3,)), {}), (ver.WrongShape((2,), (4,)), {}), Transition.NEW),
        ((ver.WrongShape((2,), (3,)), {}), (ver.WrongShape((2,), (3,)), {}), None),
        # What varies is not compared.
        ((DIFFERED, {"digest": "1", "alone": VARIES}), (DIFFERED, {"digest": "2", "alone": VARIES}), None),
        (
            (DIFFERED, {"digest": "1", "waived": True, "after_others": True}),
            (DIFFERED, {"digest": "2", "waived": True, "after_others": True}),
            None,
        ),
        # Neither is an invalid call.
        ((ver.AcceptedInvalid("pads-length"), {}), (ver.AcceptedInvalid("pads-length"), {}), None),
    ],
)
def test_other_values_of_a_valid_call_are_worse(
    was: tuple[Ruling, dict[str, Any]], now: tuple[Ruling, dict[str, Any]], transition: Transition | None
) -> None:
    """At whatever level the case is, unless it became right."""
    old, new = (judged(verdict, **more) for verdict, more in (was, now))
    comparison = compared(old, new)
    assert [group.transition for group in comparison.groups] == ([transition] if transition else [])
    assert ("1 with other values than before" in comparison.sentence) == (transition is Transition.NEW)


def test_values_of_a_run_whose_answers_vary_are_not_compared_if_they_were_not_asked_again() -> None:
    """One failure varies, so that it is not known of another one whether it does."""

    def of(digest: str, alone: FreshAnswer | None) -> Assessment:
        made = run_of({CASES[0]: DIFFERED, CASES[1]: DIFFERED})
        first, second = made.records
        made.records = [replace(first, digest=digest), replace(second, digest="0", alone=alone)]
        return assess(made, None, facts)

    assert compared(of("1", VARIES), of("2", VARIES)).worse == 0
    assert compared(of("1", VARIES), of("2", None)).worse == 0
    assert compared(of("1", None), of("2", None)).worse == 1


SHIFTED = f"""{HEAD}
cases:
  - {{name: right}}
  - {{name: off-exact, with: {{strides: 2}}}}
  - {{name: off-last, with: {{strides: 2, data_format: NXC}}}}
  - {{name: off-real, with: {{strides: 2, x: {{data: normal}}, w: {{data: normal}}}}}}
"""


def test_a_runtime_that_changes_waived_answers_alone_is_red(tmp_path: Path) -> None:
    """Its gate is green in both runs; every report has a line that says that values changed."""
    corpus = Corpus.load(written(tmp_path, SHIFTED))
    known = waiver_file(waiver(cases="small/off-*", example="small/off-exact"))

    def shifted(by: float) -> Assessment:
        answered = records_of(
            lambda problem: presented(problem, right(problem) + by * (problem.case.id != "small/right")),
            list(corpus.cases("gate")),
        )
        made = replace(run_of({}), records=answered)
        made.header = made.header.model_copy(update={"cases": len(answered)})
        return assess(made, known, corpus.find_facts)

    old, new, again = shifted(2), shifted(3), shifted(2)
    assert (old.red, new.red, compared(old, again).worse) == ([], [], 0)
    # On real data every element is wrong before and after.
    comparison = compared(old, new)
    assert [group.cases for group in comparison.groups] == [("small/off-last", "small/off-exact")]
    report = make_report([new], [old])
    (because,) = report.runs[0].red
    assert because.startswith("since out/acme.jsonl, 2 cases became worse, 2 with other values than before (")
    html.write(report, tmp_path / "index.html")
    texts = {
        "page": (tmp_path / "index.html").read_text(encoding="utf-8"),
        "markdown": job_summary.markdown(report),
        "json": str(plain.results(report)),
        "annotations": "".join(workflow_commands(report.runs[0], tmp_path, None)),
    }
    for name, text in texts.items():
        assert "waived, other values: known: it rounds up" in text.replace("&gt;", ">"), name


def right(problem: Problem) -> Array:
    assert problem.values is not None
    return problem.truth.compute_values(problem.values.primary.geometry)


def test_the_digest_of_a_wrong_output_is_of_its_values_or_of_where_it_is_wrong(tmp_path: Path) -> None:
    """On integers of type, shape and values, in any layout; on real data the last bits do not count."""
    cases = list(Corpus.load(written(tmp_path, SHIFTED)).cases("gate"))

    def digests(change: Callable[[Array], Array]) -> dict[str, str | None]:
        made = records_of(lambda problem: presented(problem, change(right(problem))), cases)
        return {record.case.rpartition("/")[2]: record.digest for record in made}

    def begins_with(*numbers: float) -> Callable[[Array], Array]:
        def change(y: Array) -> Array:
            y = y + 1
            y.flat[: len(numbers)] = numbers
            return y

        return change

    assert set(digests(lambda y: y).values()) == {None}
    first = digests(begins_with(0.0, np.nan))
    assert first == digests(begins_with(-0.0, -np.nan))
    assert first["off-exact"] == first["off-last"]
    assert digests(begins_with(1000.0, np.nan))["off-exact"] != first["off-exact"]
    assert digests(begins_with(1000.0, np.nan))["off-real"] == first["off-real"]
    assert digests(lambda y: y + (np.arange(y.size) > 0).reshape(y.shape))["off-real"] != first["off-real"]
    assert digests(lambda y: y[..., :-1])["off-exact"] not in {None, digests(lambda y: y[..., :-1] + 1)["off-exact"]}
    typed = records_of(lambda problem: presented(problem, right(problem)).astype("f8"), cases)
    assert [(record.verdict.kind, record.digest is None) for record in typed] == [("wrong-dtype", False)] * 4


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="no other library fills memory when it is asked to")
def test_values_that_memory_held_by_chance_vary(command: Command, tmp_path: Path) -> None:
    """Alone in a fresh process they may be the same each time: so free memory is filled before they are asked again."""
    written(tmp_path)
    for backend, kind in (("ReadsUnsetMemory", "unstable"), ("BiasDoubled", "differed")):
        command("run", "--backend", f"wrong_backends:{backend}", "--cases", "small.yaml", "--output", "out", "-j", "1")
        records = {record.case: record for record in read(record_file(tmp_path, backend)).records}
        assert records["small/trouble"].verdict.kind == "differed"
        assert records["small/trouble"].alone == FreshAnswer(kind, same=kind == "differed")


def test_what_other_cases_show_is_as_before_in_a_part_of_the_corpus() -> None:
    """A case with mixed readings is disputed alone: that is no mending, unless it answers differently."""
    whole = run({CASES[3]: MixedReadings(DISPUTED.readings, "odd_sized", "begin")})

    def of_part(verdict: ver.Verdict) -> Assessment:
        one = run_of({CASES[3]: verdict})
        return assess(replace(one, header=one.header.model_copy(update={"patterns": (CASES[3],)})), None, facts)

    for old, new in ((whole, of_part(DISPUTED)), (of_part(DISPUTED), whole)):
        assert (compared(old, new).groups, compared(old, new).same) == ((), 1)
    for new in (of_part(ver.Disputed(("other",), "exact")), of_part(AGREED), run({CASES[3]: DISPUTED})):
        assert [group.transition for group in compared(whole, new).groups] == [Transition.FIXED]


def test_an_answer_that_changed_is_told_of_a_part_too() -> None:
    """Whatever other cases may settle: another reading, a value that is compared no more, and a value that is wrong."""
    alike = ver.Disputed(("appended",), "exact", alike=("truncated",))
    others = (
        (alike, AGREED, Transition.NEW),
        (ver.Disputed(("truncated",), "exact"), alike, None),
        (MixedReadings((), "negative_sized", "truncate"), AGREED, None),
        (alike, ver.Disputed(("shrunk",), "exact"), Transition.NEW),
        (alike, replace(alike, rule="shape"), Transition.NEW),
        (alike, MixedReadings(("shrunk",), "negative_sized", "floor"), Transition.NEW),
        (MixedReadings((), "negative_sized", "truncate"), alike, Transition.FIXED),
        (MixedReadings((), "negative_sized", "truncate"), DIFFERED, Transition.CHANGED),
    )
    for was, now, transition in others:
        part = run_of({CASES[3]: now})
        part.header = part.header.model_copy(update={"patterns": (CASES[3],)})
        groups = compared(run({CASES[3]: was}), assess(part, None, facts)).groups
        assert [group.transition for group in groups] == ([transition] if transition else []), (was, now)


def test_a_waiver_lowers_no_answer() -> None:
    """What agreed and is a known deviation now became worse; a known deviation that is none of the waiver's did too."""
    assert compared(run({CASES[0]: AGREED}), run({CASES[0]: DIFFERED}, waived=True)).worse == 1
    waived = compared(run({CASES[0]: DIFFERED}), run({CASES[0]: DIFFERED}, waived=True))
    assert [group.transition for group in waived.groups] == [Transition.CHANGED]
    other = compared(run({CASES[0]: DIFFERED}, waived=True), run({CASES[0]: REFUSED}, waived=True))
    assert other.worse == 1
    assert other.groups[0].what == (
        "waived -> failed: Refuses valid calls; message: no <b>kernel</b> for | this; was: known: it rounds up"
    )


def test_the_example_of_a_comparison_is_that_of_the_run() -> None:
    """The smallest case rather than the shortest id, and rather no invalid one; of what is gone the old record's."""

    def of(sizes: Mapping[str, int], verdict: ver.Verdict) -> Assessment:
        made = run_of(dict.fromkeys(sizes, verdict))
        calls = (CallSummary({}, [("X", [1, sizes[record.case]], "f32")], "NCX", "IOX") for record in made.records)
        made.records = [replace(record, call=call) for record, call in zip(made.records, calls, strict=True)]
        return assess(made, None, facts)

    sizes = {"a/short": 50, "a/of-a-long-name": 5, "invalid/x": 1}
    passed, failed = of(sizes, AGREED), of(sizes, REFUSED)
    for old, new in ((passed, failed), (failed, passed), (failed, of({}, AGREED))):
        (group,) = compared(old, new).groups
        assert group.cases == ("a/of-a-long-name", "a/short", "invalid/x")


def test_cases_of_one_cause_are_one_group_the_largest_first() -> None:
    """With an example each; what became worse comes before what was fixed."""
    ids = [f"a/b/long[s={number}]" for number in range(10)]
    old = dict.fromkeys(ids, AGREED) | {"a/x": DIFFERED, "a/y": AGREED}
    new = dict.fromkeys(ids, REFUSED) | {"a/x": AGREED, "a/y": ver.Crashed("SIGSEGV", "")}
    groups = compared(run(old), run(new)).groups
    assert [(group.transition, len(group.cases), group.example) for group in groups] == [
        (Transition.NEW, 10, ids[0]),
        (Transition.NEW, 1, "a/y"),
        (Transition.FIXED, 1, "a/x"),
    ]


def test_what_headers_say_differently_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    """Versions, environment and machine, but not when each was started and where it lies."""
    old, new = run({CASES[3]: AGREED}), run({CASES[3]: DIFFERED}, "1.3.0")
    comparison = compared(old, new)
    assert [(each.name, each.old, each.new) for each in comparison.differences] == [
        ("backend.version", "1.2.0", "1.3.0")
    ]
    show(comparison)
    out = capsys.readouterr().out
    assert out.index("backend.version: 1.2.0 -> 1.3.0") < out.index("passed -> failed")
    assert out.splitlines()[-1] == "1 case became worse (1 new, 0 changed, 0 fixed, 0 gone, 0 as before)"


def test_every_report_of_a_run_that_became_worse_is_red(capsys: pytest.CaptureFixture[str]) -> None:
    """Though every deviation is waived: who reads one report alone must not see green where the exit code is 1."""
    old, new = run({CASES[0]: AGREED, CASES[3]: AGREED}), run({CASES[0]: DIFFERED, CASES[3]: AGREED}, waived=True)
    report = make_report([new], [old])
    assert new.red == []
    assert report.runs[0].red == [
        "since out/acme.jsonl, 1 case became worse (1 new, 0 changed, 0 fixed, 0 gone, 1 as before)"
    ]
    assert junit.text(report).count("<failure ") == 1
    assert junit.text(make_report([new])).count("<failure ") == 0
    assert "| red |" in job_summary.markdown(report)
    assert plain.badge(report)["color"] == "red"
    assert json_of(new, [old])["red"] == [{"name": "became-worse", "text": report.runs[0].red[0]}]
    for detail in get_args(terminal.Detail):
        terminal.show(report.runs[0], None, detail)
        out = capsys.readouterr().out
        assert "green" not in out
        assert "red: since out/acme.jsonl, 1 case became worse" in " ".join(out.split())
    show(next(report.comparisons))
    out = capsys.readouterr().out
    assert "1 case became worse" in out
    assert "the result, by today's waivers" not in out, "both runs are green: red is the comparison"


def of(name: str = "acme", version: str = "1", **settings: object) -> Assessment:
    """Return a run of this backend, judged; its header has these settings."""
    made = run_of({"a/b": AGREED}, version)
    backend = BackendHeader(name=name, version=version)
    return assess(replace(made, header=made.header.model_copy(update={"backend": backend} | settings)), None, facts)


def test_the_numbers_of_a_comparison_add_up() -> None:
    old, new = run({CASES[0]: AGREED}), run({CASES[0]: AGREED, CASES[1]: AGREED, CASES[2]: AGREED, CASES[3]: DIFFERED})
    counts = "1 new, 0 changed, 0 fixed, 0 gone, 1 as before, 2 not asked before"
    assert compared(old, new).sentence == f"1 case became worse ({counts})"
    assert "not asked before" not in compared(old, old).sentence


def test_each_run_is_compared_with_the_old_one_of_its_backend_and_dialect() -> None:
    """Whatever the versions are; that a run of either side has none of the other side is an error."""
    old, new = [of("a"), of("b")], [of("b", "2"), of("a", "2")]
    titles = [comparison.title for comparison in paired(old, new)]
    assert titles == [f"{name} 1, {DIALECT} -> {name} 2, {DIALECT}" for name in "ba"]
    assert [comparison.old.assessment for comparison in paired(old, new[:1])] == [old[1]]
    for before in ([of("c")], [of("a", dialect="onnx/ConvTranspose-11")]):
        with pytest.raises(UsageError, match=f"the baseline must have a run of a in {DIALECT}"):
            paired(before, [of("a", "2")])
    with pytest.raises(UsageError, match="the new runs must have one of b in "):
        paired([*old, of("c")], [of("a", "2"), of("c", "2")])


def test_of_several_old_runs_that_of_the_same_options_is_compared() -> None:
    """One alone is compared whatever its options are: the comparison says in what the runs differ."""
    threads = [BackendHeader(name="acme", version="1", options={"threads": count}) for count in "12"]
    old = [of(backend=backend) for backend in threads]
    assert [comparison.old.assessment for comparison in paired(old, [of(backend=threads[1])])] == [old[1]]
    (comparison,) = paired(old[:1], [of(backend=threads[1])])
    assert [difference.name for difference in comparison.differences] == ["backend.options.threads"]


def test_runs_of_other_cases_are_not_compared_with_those_of_tconvs_own() -> None:
    """A folder has the records of both: a new run of one's own cases has one old run of its kind."""
    old = [of(), of(path="mine.yaml")]
    (comparison,) = paired(old, [of(path="elsewhere/mine.yaml")])
    assert comparison.old.assessment is old[1]
    assert [one.old.assessment for one in paired(old, [of(), of(path="mine.yaml")])] == old


def test_of_several_runs_of_other_cases_that_of_the_same_cases_is_compared() -> None:
    """By what the cases are, or else by where they are."""
    old = [of(path="mine.yaml", corpus="sha256:1"), of(path="yours.yaml", corpus="sha256:2")]
    for path, corpus, expected in (("moved.yaml", "sha256:2", old[1]), ("mine.yaml", "sha256:3", old[0])):
        assert [comparison.old.assessment for comparison in paired(old, [of(path=path, corpus=corpus)])] == [expected]


def test_of_several_old_runs_the_newest_is_compared() -> None:
    """In whatever order they are given; a note says which file it is. A newer run of a few cases does not count."""
    days = [of(started=f"2026-11-{day}T00:00:00+00:00") for day in (20, 22, 21)]
    for number, made in enumerate(days):
        made.run.path = Path(f"old/{number}.jsonl")
    few = of(started="2026-11-23T00:00:00+00:00", patterns=("a/b",))
    (comparison,) = paired([*days, few], [of()])
    assert comparison.old.assessment is days[1]
    assert comparison.notes[0].text.startswith("the baseline is old/1.jsonl, the newest of 4 ")
    assert paired(days[:1], [of()])[0].notes == []


def test_a_baseline_of_another_tier_corpus_or_machine_is_compared_in_the_common_cases() -> None:
    """A note says so; no case is gone or new because only one of the runs has it."""
    old = run({CASES[0]: AGREED, CASES[1]: AGREED, CASES[2]: AGREED})
    for settings in ({"tier": "smoke"}, {"corpus": "sha256:1"}):
        made = run_of({CASES[1]: AGREED, CASES[2]: DIFFERED, CASES[3]: DIFFERED})
        made.header = made.header.model_copy(update=settings)
        comparison = compared(old, assess(made, None, facts))
        assert [(group.transition, group.cases) for group in comparison.groups] == [(Transition.NEW, (CASES[2],))]
        assert (comparison.same, comparison.added) == (1, 1)
        assert any("the 2 cases of both are compared" in note.text for note in comparison.notes)


@pytest.mark.parametrize(("fact", "listed"), [("simd", True), ("processor", True), ("cores", False), ("memory", False)])
def test_facts_of_another_machine_that_choose_kernels_are_listed(fact: str, *, listed: bool) -> None:
    """Not how much of it there is."""
    old, new = (assess(run_of({CASES[3]: AGREED}, machine={fact: value}), None, facts) for value in "12")
    comparison = compared(old, new)
    assert [difference.name for difference in comparison.differences] == ([f"backend.machine.{fact}"] if listed else [])
    assert [f"another machine ({fact})" in note.text for note in comparison.notes] == ([True] if listed else [])


def test_a_baseline_without_the_backend_is_refused_before_the_run() -> None:
    """Unless the name of the backend is known with the run alone."""
    with pytest.raises(UsageError, match=r"the baseline must have a run of other in its dialect \(got none\)"):
        refuse_unpaired([of()], ["other"], None)
    with pytest.raises(UsageError, match=r"the baseline must have a run of acme in onnx/ConvTranspose-11"):
        refuse_unpaired([of()], ["acme"], DIALECTS["onnx/ConvTranspose-11"])
    refuse_unpaired([of()], ["module:Acme"], None)


def test_hostile_text_is_inert_in_a_comparison() -> None:
    """A runtime's message becomes no markup and no cell of a table."""
    ids = {f"a/b/c[s={number}]": AGREED for number in range(3)}
    old, new = run(ids), run(dict.fromkeys(ids, ver.RefusedValid("<script>alert(1)</script> | `x`")))
    report = make_report([new], [old])
    text = job_summary.markdown(report)
    assert "alert" in text
    assert "<script>" not in text.replace("\\<script\\>", "")
    assert plain.results(report)["comparisons"][0]["causes"][0]["cases"] == list(ids)


def test_markdown_is_cut_before_github_cuts_it() -> None:
    """A step's summary may have a megabyte: ids and causes beyond a number are counted."""
    ids = [f"a/b{number}/c[s={index}]" for number in range(100) for index in range(60)]
    old = run(dict.fromkeys(ids, AGREED))
    new = run({case: ver.RefusedValid(case.partition("/c")[0] + " " + "word " * 20) for case in ids})
    text = job_summary.markdown(make_report([new], [old]))
    assert len(text) < 300_000
    assert "60 smaller causes are left out." in text
    assert "- and 10 more" in text


def test_a_part_of_the_corpus_is_compared_with_that_part() -> None:
    """What a run with patterns was not told to ask is not gone."""
    part = run_of({CASES[0]: DIFFERED})
    part.header = part.header.model_copy(update={"patterns": ("a/b",)})
    comparison = compared(run({CASES[0]: AGREED, CASES[3]: AGREED}), assess(part, None, facts))
    assert (comparison.worse, comparison.count(Transition.GONE)) == (1, 0)
