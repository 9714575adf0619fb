"""`tconv explain`: why an answer differs, and which formulas a runtime uses instead of those of the text."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tconv.cli import options
from tconv.cli.output import print_text
from tconv.cli.record_files import cases_of, record_files
from tconv.corpus import Corpus
from tconv.diagnosis.misreadings import meanings
from tconv.errors import UsageError
from tconv.evidence.contexts import kind_of
from tconv.execution.asking import Asking
from tconv.gate.record_files import read_selected
from tconv.investigation.further_cases import REPEAT, own_rule, separate
from tconv.nearest_word import nearest
from tconv.records.headers import cases_option
from tconv.records.shards import merged
from tconv.reports.names import entries
from tconv.reports.phrases import headline
from tconv.reports.rule_sheet import LEGEND, sheet
from tconv.reports.words import KINDS
from tconv.verdict.kinds import WrongOutput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.evidence.hypotheses import Rule
    from tconv.investigation.further_cases import Reasoning
    from tconv.records.record_file import Run


@click.command(name="explain")
@click.argument("targets", nargs=-1, metavar="[NAME|CASE|RECORDS]...")
@click.option("--backend", help="The backend that runs CASE; default: onnxruntime.")
@options.backend_options
@options.spoken
@options.cases
@options.timeout()
def command(
    targets: tuple[str, ...],
    backend: str | None,
    option: dict[str, str],
    dialect: str | None,
    cases: Path | None,
    timeout: float,
) -> int:
    """Say what a name means, why a case fails, or which formulas a runtime uses.

    RECORDS is a file or a folder. NAME is a name that reports print: a reading, misreading,
    constraint, question, fact, verdict, status or note. Any other name is a CASE.

    With NAME: print what it means, an example, and what to do.

    With CASE: run the case three times, and print the misreading that explains the answer. If several misreadings
    explain it, more cases are run until one is left. If the output has a wrong size or position, more cases of its
    padding mode are run. Then the formula that the backend uses is printed. The exit code is 1 if a failure has no
    single explanation.

    With RECORDS: for each padding mode, with output_shape and without, print the simplest formula that gives the output
    sizes, and the one that gives the positions. Each line also has the formula of the text, and how many answers fit. A
    star marks a formula that differs from the text.
    """
    records = [Path(name) for name in targets if os.path.lexists(name)]
    case_ids = [name for name in targets if not os.path.lexists(name)]
    if records and (case_ids or backend or option or dialect):
        raise UsageError("RECORDS must be without CASE, --backend, --option and --dialect: they have theirs")
    if records:
        files = record_files(records, cases)
        corpus = Corpus.load(cases_of(files, cases))
        _print_sheets(merged([read_selected(path, corpus) for path in files]), corpus)
        return 0
    if case_ids and all(name in entries() for name in case_ids if "/" not in name) and "/" not in "".join(case_ids):
        for name in case_ids:
            for entry in entries()[name]:
                print_text("\n".join(entry.lines))
        return 0
    if not case_ids:
        raise UsageError("there must be NAME, CASE or RECORDS (got none of them)")
    asking = Asking(backend or "onnxruntime", options.dialect(dialect), option, timeout)
    corpus = Corpus.load(cases)
    of_ids = [_case(corpus, case_id) for case_id in case_ids]
    return max(_explain(case, asking, cases) for case in of_ids)


def _case(corpus: Corpus, name: str) -> Case:
    try:
        return corpus.case(name)
    except UsageError as error:
        near = nearest(name, entries()) if "/" not in name else ""
        raise UsageError(
            f"{name!r} is no file or folder of records, and no name that reports print{near}; as a case: {error}"
        ) from None


def _print_sheets(runs: Sequence[Run], corpus: Corpus) -> None:
    """Print for each run what the runtime computes, next to what the text says."""
    for learnt in runs:
        header = learnt.header
        if header.corpus != corpus.digest:
            raise UsageError(f"records must be of this corpus, {corpus.digest} (got {header.corpus}); run it again")
        lines = sheet(learnt.records, corpus.find, learnt.dialect)
        print_text(f"{header.backend.title}  {header.dialect}  {len(learnt.records):,} records")
        for line in lines:
            print_text(f"{'*' if line.deviates else ' '} {line}")
        print_text(f"  {LEGEND}" if lines else "  no answer tells a size")


def _explain(case: Case, asking: Asking, cases: Path | None) -> int:
    """Run a case, and print what explains the backend's answer; return the exit code."""
    own = Corpus.load()
    reasoning = separate(case, own.cases("gate"), asking)
    record = reasoning.record
    learnt = own_rule(case, record, own.cases("gate"), asking)
    says = meanings(reasoning.dialect)
    _print(reasoning, says)
    if learnt is not None:
        rules = "; ".join(map(str, learnt.rules))
        count = len(learnt.cases)
        print_text(f"the runtime's rule, learnt from similar cases: {rules}")
        print_text(f"  {count:,} wrong answers follow it, and {len(learnt.against):,} answers contradict it")
        if learnt.clause:
            print_text(f"  the text: {learnt.clause}")
        print_text(f"  {LEGEND}")
    if len(reasoning.left) == 1:
        print_text(f"so: {says.get(reasoning.left[0], reasoning.left[0])} ({reasoning.left[0]})")
    elif record.diagnosis:
        print_text(f"undecided between {', '.join(reasoning.left)}" if reasoning.left else "none explains all of them")
    if case.context and kind_of(record) is not None:
        words = ["tconv", "run", case.id, *reasoning.backend.arguments, "--dialect", record.dialect]
        words += [*cases_option(str(cases or "")), "--waivers", "none"]
        print_text(f"find the smallest context that fails: {shlex.join(words)}")
    print_text(f"to conform: {_remedy(reasoning, learnt.rules if learnt else (), says, cases)}")
    return int(record.verdict.kind not in {"agreed", "disputed"} and len(reasoning.left) != 1 and learnt is None)


def _remedy(reasoning: Reasoning, rules: Sequence[Rule], says: Mapping[str, str], cases: Path | None) -> str:
    """Return what a runtime must change to conform."""
    record = reasoning.record
    if rules:
        changes = [f"{rule.quantity} as {rule.expected or 'the text says'}, not as {rule.formula}" for rule in rules]
        return f"for calls of this padding mode compute {'; and '.join(changes)}"
    if reasoning.left:
        # A single case does not show for which other calls the runtime does the same.
        does = " or ".join(says.get(name, name) for name in reasoning.left)
        return f"change this for calls like this one, as the text does not say it: {does}"
    if isinstance(record.verdict, WrongOutput):
        words = ["tconv", "shrink", record.case, *reasoning.backend.arguments, "--dialect", record.dialect]
        smaller = shlex.join([*words, *cases_option(str(cases or ""))])
        return f"nothing explains this output; a smaller case may: {smaller}"
    return KINDS[record.verdict.kind].to_do


def _print(reasoning: Reasoning, says: Mapping[str, str]) -> None:
    record = reasoning.record
    print_text(f"{record.case}\n  {headline(record.verdict)}")
    if record.verdict.kind in {"differed", "wrong-shape"}:
        print_text(f"  asked {REPEAT} times, the output is the same")
    if record.described:
        print_text(f"  no known mistake gives this output: {record.described}")
    if record.diagnosis:
        print_text("  explained by")
    for misreadings in record.diagnosis:
        print_text(f"    {misreadings}: {'; '.join(says[name] for name in misreadings.names)}")
    for further in reasoning.further:
        remaining = f"which leaves {', '.join(further.left) or 'none'}"
        what = remaining if further.tells else "which has another reason, and says nothing of these"
        print_text(f"{further.record.case}\n  {further.record.verdict.kind}, {what}")
