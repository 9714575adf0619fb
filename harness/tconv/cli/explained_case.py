"""What a case says of a backend: misreadings, a rule of its own, the cause that a run gives, and what to change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tconv.cli.output import print_text
from tconv.corpus import Corpus
from tconv.diagnosis.misreadings import meanings
from tconv.errors import FileError
from tconv.gate.assessment import assess_with_corpus
from tconv.gate.record_files import read_selected
from tconv.gate.status import FAILING
from tconv.investigation.further_cases import REPEAT, own_rule, separate
from tconv.learning.axis_terms import LEGEND
from tconv.records.record_file import header_in
from tconv.reports.causes import find_causes
from tconv.reports.phrases import headline
from tconv.reports.remedies import remedy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.execution.asking import Asking
    from tconv.investigation.further_cases import Reasoning
    from tconv.learning import Lesson
    from tconv.records.headers import RunHeader
    from tconv.reports.causes import Cause

_REPORTS = Path("reports")
"""Where `tconv run` puts its records if nothing else is said."""


def explain_case(case: Case, asking: Asking, corpus: Corpus, cases: Path | None, records: Sequence[Path]) -> int:
    """Run a case, and print what explains a backend's answer; return the exit code.

    Args:
        case: the case.
        asking: how the backend is asked.
        timeout: seconds that one case may take.
        corpus: the cases of which it is one.
        cases: where these are; None for tconv's own.
        records: record files, or folders of them, that are searched for a run with the case; none for the usual folder.

    Returns:
        1 if nothing explains a failure, or if several misreadings still do; else 0.

    Raises:
        BackendMissing: the backend is not there or does not start.
    """
    own = tuple(Corpus.load().cases("gate"))
    reasoning = separate(case, own, asking)
    record = reasoning.record
    lesson = own_rule(case, record, own, asking)
    says = meanings(reasoning.dialect)
    _print(reasoning, says)
    if lesson is not None:
        _print_rule(lesson)
    _conclude(reasoning, says)
    if record.verdict.kind not in {"agreed", "disputed", "inexpressible"}:
        _print_recorded(reasoning, records, corpus)
    change = remedy(record, reasoning.left, says, lesson, reasoning.backend.arguments, str(cases or ""))
    print_text(f"to conform: {change}")
    return int(record.verdict.kind not in {"agreed", "disputed"} and len(reasoning.left) != 1 and lesson is None)


def _print(reasoning: Reasoning, says: Mapping[str, str]) -> None:
    record = reasoning.record
    print_text(f"{record.case}\n  {headline(record.verdict)}")
    if record.verdict.kind in {"differed", "wrong-shape"}:
        print_text(f"  asked {REPEAT} times, the output is the same")
    if record.described:
        print_text(f"  no misreading gives this output: {record.described}")
    if record.diagnosis:
        print_text("  explained by")
    for misreadings in record.diagnosis:
        print_text(f"    {misreadings}: {'; '.join(says[name] for name in misreadings.names)}")
    for further in reasoning.further:
        remaining = f"which leaves {', '.join(further.left) or 'none'}"
        what = remaining if further.tells else "which has another reason, and says nothing of these"
        print_text(f"{further.record.case}\n  {further.record.verdict.kind}, {what}")


def _print_rule(lesson: Lesson) -> None:
    print_text(f"its own rule, learnt from cases of this kind: {lesson}")
    print_text(f"  the smallest case that shows it: {lesson.example.id}")
    if lesson.clause:
        print_text(f"  the text: {lesson.clause}")
    print_text(f"  {LEGEND}")


def _conclude(reasoning: Reasoning, says: Mapping[str, str]) -> None:
    """Print which misreadings are left, if there were some."""
    if len(reasoning.left) == 1:
        print_text(f"so: {says.get(reasoning.left[0], reasoning.left[0])} ({reasoning.left[0]})")
    elif reasoning.record.diagnosis:
        print_text(f"undecided between {', '.join(reasoning.left)}" if reasoning.left else "none explains all of them")


def _print_recorded(reasoning: Reasoning, records: Sequence[Path], corpus: Corpus) -> None:
    """Print the cause that a run gives to the case; if none has it, nothing, unless records were named."""
    case_id, title = reasoning.record.case, reasoning.backend.title
    for path, header in _runs(reasoning, records or [_REPORTS], corpus):
        try:
            run = read_selected(path, corpus)
        except FileError:
            # A run that goes on, or was cut off, is no evidence.
            continue
        if any(record.case == case_id for record in run.records):
            # Without waivers, as the case is judged here.
            assessment = assess_with_corpus(run, None, corpus, strict=False, own=False)
            failures = [cause for status in FAILING for cause in find_causes(assessment, status)]
            cause = next((cause for cause in failures if any(m.record.case == case_id for m in cause.members)), None)
            if cause is not None:
                said = _in_words(path, header, cause)
                print_text(f"by all cases of a run, which are not asked again here: {said}")
                return
            break
    if records:
        names = ", ".join(map(str, records))
        dialect = reasoning.record.dialect
        print_text(f"{names} has no run of {title}, {dialect}, with these cases, in which {case_id} failed")


def _in_words(path: Path, header: RunHeader, cause: Cause) -> str:
    failures = "alone" if cause.count == 1 else f"with {cause.count - 1:,} more failures"
    return f"{path}, a run of {header.started}, has it {failures}: {cause.what}"


def _runs(reasoning: Reasoning, records: Sequence[Path], corpus: Corpus) -> list[tuple[Path, RunHeader]]:
    """Return the record files of the same backend, version, options, dialect and cases, the last run first."""
    asked = reasoning.backend

    def fits(header: RunHeader) -> bool:
        theirs = header.backend
        same = (theirs.name, theirs.version, theirs.options) == (asked.name, asked.version, asked.options)
        return same and (header.dialect, header.corpus, header.shard) == (reasoning.record.dialect, corpus.digest, "")

    runs = [(path, header) for folder in records for path, header in _headers(folder) if fits(header)]
    return sorted(runs, key=lambda pair: pair[1].started, reverse=True)


def _headers(folder: Path) -> Iterator[tuple[Path, RunHeader]]:
    for path in sorted(folder.rglob("*.jsonl")) if folder.is_dir() else [folder]:
        try:
            yield path, header_in(path)
        except FileError:
            continue
