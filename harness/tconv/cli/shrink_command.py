"""`tconv shrink`: the smallest case with the same failure."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tconv.cli import options
from tconv.cli.output import write_output
from tconv.corpus import Corpus
from tconv.corpus.writing import write_case_file
from tconv.execution.asking import Asking
from tconv.execution.pool import Pool
from tconv.investigation.shrinking import shrunk
from tconv.records.failure import failure
from tconv.records.headers import timeout_option
from tconv.reports.commands import excused_by_nothing
from tconv.reports.phrases import headline, summary
from tconv.shown_texts import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.cases.case import Case
    from tconv.records.failure import Failure
    from tconv.records.record import Record

_NAME = "minimal"
_CASES_BETWEEN_LINES = 100


@click.command(name="shrink")
@click.argument("case_id", metavar="CASE")
@click.option("--backend", default="onnxruntime", help="The backend that fails.")
@options.backend_options
@options.spoken
@options.cases
@options.timeout(10.0)
@click.option("--output", type=options.FILE, help="The file to write; default: standard output.")
def command(
    case_id: str,
    backend: str,
    option: dict[str, str],
    dialect: str | None,
    cases: Path | None,
    timeout: float,
    output: Path | None,
) -> int:
    """Find the smallest case that fails in the same way as CASE, and print it as a case file.

    Simpler cases are run until none of them fails in the same way: with the same verdict, and with the same explanation
    or message. The exit code is 1 if CASE does not fail.
    """
    case = Corpus.load(cases).case(case_id)
    with Pool(Asking(backend, options.dialect(dialect), option, timeout)) as pool:
        record, spoken, named = pool.record(case), pool.dialect, pool.backend.arguments
        wanted = failure(record)
        if wanted is None:
            click.echo(f"tconv: a case must fail to be shrunk (got {one_line(headline(record.verdict))})", err=True)
            return 1
        result = shrunk(case, record, spoken, _alike(wanted, pool))
    smallest = replace(result.case, id=_NAME, about=summary(result.result))
    # A disputed answer is no failure.
    alike = f"is answered as {case.id} is" if record.verdict.kind == "disputed" else f"fails as {case.id} does"
    text = write_case_file([smallest], f"The smallest case that {alike}.")
    file = output or Path(f"{_NAME}.yaml")
    asked = [*named, *timeout_option(timeout), "--dialect", spoken.name]
    words = ["tconv", "run", "--cases", str(file), *asked, *excused_by_nothing(record.verdict)]
    where = f"save this as {file}, or give --output {file}" if output is None else f"{file} is written"
    lines = [summary(result.result), f"{result.tried} simpler cases were run", f"{where}; then: {shlex.join(words)}"]
    # The output must be a case file, so these lines become comments.
    write_output("".join(f"# {line}\n" for line in lines) + text, output)
    if output is not None:
        click.echo("\n".join(lines))
    return 0


def _alike(wanted: Failure, pool: Pool) -> Callable[[Case], Record | None]:
    """Return a function that runs a case, and returns its record if the case fails in the same way.

    Now and then the function prints to standard error how many cases it has run.
    """
    count = 0

    def run_alike(case: Case) -> Record | None:
        nonlocal count
        count += 1
        if count % _CASES_BETWEEN_LINES == 0:
            click.echo(f"tconv: {count} cases tried", err=True)
        record = pool.record(case)
        return record if wanted.alike(failure(record)) else None

    return run_alike
