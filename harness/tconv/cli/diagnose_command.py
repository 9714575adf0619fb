"""`tconv diagnose`: which misreading explains a failure, and by which cases this is known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tconv.cli import call_options, options
from tconv.cli.given_arrays import given_arrays, judge
from tconv.cli.output import print_text
from tconv.cli.recorded_cause import recorded_cause
from tconv.corpus import Corpus
from tconv.diagnosis.misreadings import meanings
from tconv.errors import UsageError
from tconv.execution.worker import Assignment
from tconv.investigation.own_rule import own_rule
from tconv.investigation.separating import REPEAT, separate
from tconv.learning.axis_terms import LEGEND
from tconv.reports.phrases import headline
from tconv.reports.remedies import remedy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.investigation.separating import Reasoning
    from tconv.learning import Lesson


@click.command(name="diagnose", cls=call_options.OfSizes)
@click.argument("case_id", metavar="[CASE]", required=False)
@click.option("--backend", default=None, show_default="onnxruntime", help="The backend to judge.")
@options.backend_options()
@options.spoken
@options.cases
@options.timeout()
@click.option(
    "--records",
    type=click.Path(path_type=Path, exists=True),
    default=None,
    show_default="reports",
    help="A record file, or a folder of them: the cause that a run of this backend gives to CASE is told too.",
)
@given_arrays
def command(
    case_id: str | None,
    backend: str | None,
    option: dict[str, str],
    dialect: str | None,
    cases: Path | None,
    timeout: float,
    records: Path | None,
    **arrays: Any,  # noqa: ANN401 - the values of the options of `given_arrays`
) -> int:
    """Run CASE, and tell which misreading explains what a backend does.

    Each case is asked three times. Where several misreadings explain it, further cases of tconv's own corpus are run
    that tell them apart. Where the output has another size or lies elsewhere, cases of its padding mode are run, and
    the formula is printed that the backend follows. Where --records has a run of the same backend, version, options,
    dialect and cases in which CASE failed, the cause is printed that all cases of the run give it. Exits with 1 where
    nothing explains a failure, or several misreadings still do and no formula was found.

    With --x, --w and --y in the place of CASE: judge the output of a call that was made elsewhere, with its attributes,
    and tell which misreadings explain it. Exits with 1 where it does not conform. Nothing is run.
    """
    arrays_given = {name: value for name, value in arrays.items() if value is not None}
    case_options = {"CASE": case_id, "--backend": backend, "--option": option, "--cases": cases, "--records": records}
    if arrays_given and (both := [f"{name} {value}" for name, value in case_options.items() if value]):
        first = f"--{next(iter(arrays_given)).replace('_', '-')}"
        raise UsageError(f"{first} must be without {', '.join(case_options)}: nothing is run of arrays (got {both[0]})")
    if arrays_given:
        return judge(arrays_given, dialect)
    if case_id is None:
        raise UsageError("CASE must be given, or the arrays of a call: --x, --w and --y")
    return _of_case(case_id, backend or "onnxruntime", option, dialect, cases, timeout, records)


def _of_case(
    case_id: str,
    backend: str,
    option: dict[str, str],
    dialect: str | None,
    cases: Path | None,
    timeout: float,
    records: Path | None,
) -> int:
    corpus = Corpus.load(cases)
    case = corpus.case(case_id)
    own = tuple(Corpus.load().cases("gate"))
    reasoning = separate(case, own, options.dialect(dialect), backend, timeout, options=option)
    assignment = Assignment(backend, reasoning.dialect, None, "", options=option)
    lesson = own_rule(case, reasoning.record, own, assignment, timeout)
    says = meanings(reasoning.dialect)
    _print(reasoning, says)
    if lesson is not None:
        _print_rule(lesson)
    _conclude(reasoning, says)
    _print_recorded(reasoning, records, corpus)
    change = remedy(reasoning.record, reasoning.left, says, lesson, reasoning.backend.arguments, str(cases or ""))
    print_text(f"to conform: {change}")
    kind = reasoning.record.verdict.kind
    return int(kind not in {"agreed", "disputed"} and len(reasoning.left) != 1 and lesson is None)


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


def _print_recorded(reasoning: Reasoning, records: Path | None, corpus: Corpus) -> None:
    """Print the cause that a run gives to the case; where none has it, nothing, unless its records were named."""
    record = reasoning.record
    if record.verdict.kind in {"agreed", "disputed", "inexpressible"}:
        return
    folder = records or _REPORTS
    cause = recorded_cause(record.case, folder, reasoning.backend, record.dialect, corpus)
    if cause is not None:
        print_text(f"by all cases of a run, which are not asked again here: {cause}")
    elif records is not None:
        title = reasoning.backend.title
        print_text(
            f"{records} has no run of {title}, {record.dialect}, with these cases, in which {record.case} failed"
        )


_REPORTS = Path("reports")
"""Where `tconv run` puts its records where nothing else is said."""


def _conclude(reasoning: Reasoning, says: Mapping[str, str]) -> None:
    """Print which misreadings are left, where there were some."""
    if len(reasoning.left) == 1:
        print_text(f"so: {says.get(reasoning.left[0], reasoning.left[0])} ({reasoning.left[0]})")
    elif reasoning.record.diagnosis:
        print_text(f"undecided between {', '.join(reasoning.left)}" if reasoning.left else "none explains all of them")
