"""`tconv compare`: what became of every case between two runs."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from tconv.cli import options
from tconv.cli.output import printing, write_output
from tconv.cli.record_files import cases_of, record_files
from tconv.errors import UsageError
from tconv.gate.record_files import assess_files
from tconv.reports import between_runs

Form = Literal["text", "markdown", "html", "json"]


@click.command(name="compare")
@click.argument("old", type=click.Path(path_type=Path, allow_dash=True))
@click.argument("new", type=click.Path(path_type=Path, allow_dash=True))
@options.cases
@options.waivers
@options.strict
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "html", "json"]),
    default="text",
    show_default=True,
    help="What is written.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    help="The file to write; default: standard output.",
)
@options.detail
def command(
    old: Path,
    new: Path,
    cases: Path | None,
    waivers: str | None,
    form: Form,
    output: Path | None,
    *,
    strict: bool,
    quiet: bool,
    verbose: bool,
) -> int:
    """Compare the records NEW with the records OLD: files, folders, or - for standard input.

    The runs may be of two versions of a backend, or of two backends. What differs between their headers comes first,
    then what became of the cases, by cause: new (became worse, or fails and was not asked before), changed, fixed and
    gone. Exits with 1 where a case became worse.
    """
    if form == "text" and output is not None:
        raise UsageError("--output must be beside --format markdown, html or json (got it with text)")
    sides = [record_files([path], cases) for path in (old, new)]
    cases = cases_of([file for files in sides for file in files], cases)
    before, after = (assess_files(files, cases, waivers, strict=strict)[0] for files in sides)
    comparisons = between_runs.paired(before, after)
    if form == "text":
        with printing():
            for comparison in comparisons:
                between_runs.show(comparison, options.detail_of(quiet=quiet, verbose=verbose))
    else:
        write_output(between_runs.FORMS[form](comparisons), output)
    return int(any(comparison.worse for comparison in comparisons))
