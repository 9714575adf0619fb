"""`tconv diagnose`: which misreading explains a failure, and by which cases this is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tconv.cli import options
from tconv.cli.output import say
from tconv.corpus import Corpus
from tconv.diagnosis.misreadings import misreadings_by_name
from tconv.execution.worker import Assignment
from tconv.investigation.own_rule import own_rule
from tconv.investigation.separating import REPEAT, separate
from tconv.learning.axis_terms import LEGEND
from tconv.reports.phrases import headline
from tconv.reports.remedies import remedy

if TYPE_CHECKING:
    from pathlib import Path

    from tconv.investigation.separating import Reasoning
    from tconv.learning import Lesson


@click.command(name="diagnose")
@click.argument("case_id", metavar="CASE")
@click.option("--backend", default="onnxruntime", show_default=True, help="Whom to judge.")
@options.backend_options()
@options.spoken
@options.cases
@options.timeout()
def command(
    case_id: str, backend: str, option: dict[str, str], dialect: str | None, cases: Path | None, timeout: float
) -> int:
    """Run CASE, and tell which misreading explains what a backend does.

    Each case is asked three times. Where several misreadings explain it, further cases of tconv's own corpus are run
    that tell them apart. Where the output has another size or lies elsewhere, cases of its padding mode are run, and
    the formula is printed that the backend follows. Exits with 1 where nothing explains a failure, or several
    misreadings still do and no formula was found.
    """
    case = Corpus.load(cases).case(case_id)
    own = tuple(Corpus.load().cases("gate"))
    reasoning = separate(case, own, options.dialect(dialect), backend, timeout, options=option)
    assignment = Assignment(backend, reasoning.dialect, None, "", options=option)
    lesson = own_rule(case, reasoning.record, own, assignment, timeout)
    says = {name: misreading.says for name, misreading in misreadings_by_name(reasoning.dialect).items()}
    _print(reasoning, says)
    if lesson is not None:
        _print_rule(lesson)
    _conclude(reasoning, says)
    known = remedy(reasoning.record, reasoning.left, says, lesson, reasoning.backend.arguments, str(cases or ""))
    say(f"to conform: {known}")
    kind = reasoning.record.verdict.kind
    return int(kind not in {"agreed", "disputed"} and len(reasoning.left) != 1 and lesson is None)


def _print(reasoning: Reasoning, says: dict[str, str]) -> None:
    record = reasoning.record
    say(f"{record.case}\n  {headline(record.verdict)}")
    if record.verdict.kind in {"differed", "wrong-shape"}:
        say(f"  asked {REPEAT} times, the output is the same")
    if record.described:
        say(f"  no misreading gives this output: {record.described}")
    if record.diagnosis:
        say("  explained by")
    for misreadings in record.diagnosis:
        say(f"    {misreadings}: {'; '.join(says[name] for name in misreadings.names)}")
    for further in reasoning.further:
        left = f"which leaves {', '.join(further.left) or 'none'}"
        what = left if further.tells else "which has another reason, and says nothing of these"
        say(f"{further.record.case}\n  {further.record.verdict.kind}, {what}")


def _print_rule(lesson: Lesson) -> None:
    say(f"its own rule, learnt from cases of this kind: {lesson}")
    say(f"  the smallest case that shows it: {lesson.example.id}")
    if lesson.clause:
        say(f"  the text: {lesson.clause}")
    say(f"  {LEGEND}")


def _conclude(reasoning: Reasoning, says: dict[str, str]) -> None:
    """Print which misreadings are left, where there were some."""
    if len(reasoning.left) == 1:
        say(f"so: {says.get(reasoning.left[0], reasoning.left[0])} ({reasoning.left[0]})")
    elif reasoning.record.diagnosis:
        say(f"undecided between {', '.join(reasoning.left)}" if reasoning.left else "none explains all of them")
