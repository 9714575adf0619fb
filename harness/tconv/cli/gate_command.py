"""`tconv gate`: judge records with waivers again, without a run."""

from __future__ import annotations

from pathlib import Path

import click

from tconv.cli import options
from tconv.gate.assessment import assessed_files
from tconv.reports import junit, terminal


@click.command(name="gate")
@click.argument("records", nargs=-1, required=True, type=click.Path(path_type=Path))
@options.cases
@options.waivers
@options.strict
@options.junit
def command(
    records: tuple[Path, ...], cases: Path | None, waivers: str | None, junit_file: Path | None, *, strict: bool
) -> int:
    """Hold RECORDS against the waivers; exit with 1 where that is red."""
    assessments, _ = assessed_files(records, cases, waivers, strict=strict)
    if junit_file is not None:
        junit.write(assessments, junit_file)
    for assessment in assessments:
        terminal.show(assessment, None)
    return int(any(assessment.red for assessment in assessments))
