"""`tconv export`: a case for a reader without tconv, as files or as the text of a bug report."""

from __future__ import annotations

import platform
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tconv import __version__
from tconv.cli import options
from tconv.corpus import Corpus
from tconv.dialects import find_dialect
from tconv.errors import UsageError
from tconv.execution.asking import Asking
from tconv.execution.selection import Selection
from tconv.expectation.problem import expressed
from tconv.export.folder import export
from tconv.export.issue import issue as report
from tconv.export.snippet import DEFAULT, DEFAULT_DIALECT, usual_dialect
from tconv.export.suites import SUITES, curated_ids, write_suite
from tconv.investigation.further_cases import separate
from tconv.records import artifacts
from tconv.records.headers import versions
from tconv.reports.phrases import headline
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from tconv.cases.case import Case
    from tconv.corpus import Tier


@click.command(name="export")
@click.argument("case_id", metavar="CASE|PATTERN")
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path, file_okay=False))
@click.option("--issue", is_flag=True, help="Run CASE on a backend, and print a bug report in Markdown.")
@click.option("--backend", help="The backend that repro.py calls; with --issue, the backend that the report is about.")
@options.backend_options
@click.option(
    "--dialect",
    "dialect_name",
    help=f"Default: {DEFAULT_DIALECT}, or a dialect of the backend; with --issue the first of the backend.",
)
@options.timeout(text="With --issue: the most seconds for the case.")
@options.cases
@click.option(
    "--suite", type=click.Choice(list(SUITES)), help="Write all cases of PATTERN as tests of another project."
)
@click.option(
    "--output", "suite_folder", type=click.Path(path_type=Path, file_okay=False), help="The folder of --suite."
)
@click.option("--curated", is_flag=True, help="With --suite: only the cases that find the most wrong kernels.")
@options.tier
def command(
    case_id: str,
    folder: Path | None,
    backend: str | None,
    option: dict[str, str],
    dialect_name: str | None,
    timeout: float,
    cases: Path | None,
    suite: str | None,
    suite_folder: Path | None,
    tier: Tier,
    *,
    issue: bool,
    curated: bool,
) -> int:
    """Write CASE into a folder below DIR: its data, a script that calls a runtime, and for ONNX a model.

    With --issue, give no DIR. CASE is run on the backend, and a bug report is printed. The exit code is 1 if the case
    does not fail.

    With --suite, the cases of PATTERN are written to --output as tests of another project. These are folders of ONNX
    node tests, input of oneDNN's benchdnn, data of WebNN's tests, or models of OpenVINO. A case is left out
    if the suite cannot express it, if its values are not exact, or if the text allows several answers.
    """
    if suite is not None:
        if suite_folder is None or folder is not None or issue:
            raise UsageError("--suite needs --output, and must be without DIR and --issue")
        return _write_suite(suite, Selection(Corpus.load(cases), tier, (case_id,)), suite_folder, curated=curated)
    if suite_folder is not None or curated:
        raise UsageError("--output and --curated need --suite")
    if option and not issue:
        raise UsageError("--option needs --issue, which runs a backend")
    if issue and backend is None:
        raise UsageError("--issue must come with --backend (got it alone)")
    if issue == (folder is not None):
        got = "both" if issue else "neither"
        raise UsageError(f"there must be either DIR or --issue (got {got}): a folder for files, or a report")
    dialect = options.dialect(dialect_name)
    case = Corpus.load(cases).case(case_id)
    if folder is None:
        assert backend is not None  # noqa: S101 - --issue needs it
        return _report(case, Asking(backend, dialect, option, timeout), str(cases or ""))
    whom = backend or DEFAULT
    click.echo(f"case {export(case, dialect or find_dialect(usual_dialect(whom)), folder, whom)}")
    return 0


def _write_suite(suite: str, selection: Selection, folder: Path, *, curated: bool) -> int:
    chosen = curated_ids() if curated else None
    selected = (case for case in selection.stream() if chosen is None or case.id in chosen)
    written, left_out = write_suite(suite, selected if selection.count else (), folder)
    click.echo(f"{suite}: {written} cases in {folder}; {left_out} are left out")
    return 0


def _report(case: Case, asking: Asking, cases: str) -> int:
    """Run a case on a backend and print the report, or say that there is nothing to report.

    The report has the explanations that remain after further cases, as `tconv explain` finds them.
    """
    with tempfile.TemporaryDirectory(prefix="tconv-export-") as folder:
        reasoning = separate(case, Corpus.load().cases("gate"), replace(asking, folder=folder))
        record, header = reasoning.record, reasoning.backend
        actual = artifacts.array(Path(folder), record.artifact, "actual")
    # If the dialect cannot express the case, this raises an error.
    problem = expressed(case, reasoning.dialect)
    if isinstance(record.verdict, ver.Allowed):
        verdict = headline(record.verdict)
        click.echo(f"nothing to report: {header.title} in {case.id}: {verdict}", err=True)
        return 1
    left = tuple(together for together in record.diagnosis if str(together) in reasoning.left)
    record = replace(record, diagnosis=left or record.diagnosis)
    found_by = {"tconv": __version__, **versions(), "platform": platform.platform()}
    click.echo(report(problem, record, header, actual, found_by, cases, asking.timeout))
    return 0
