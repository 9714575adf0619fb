"""`tconv audit`: whether a model is safe on a runtime."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tconv.cli import options
from tconv.cli.output import json_text, print_text, printing, write_output
from tconv.errors import BackendMissing, UsageError, writing
from tconv.execution.asking import Asking
from tconv.porting.audit import audit
from tconv.porting.fixing import write_fixed
from tconv.porting.runtime import Runtime
from tconv.reports import atomic_write, auditing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.porting.audit import ModelAudit


@click.command(name="audit")
@click.argument("models", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="MODEL.onnx...")
@click.option("--backend", "backends", multiple=True, default=("onnxruntime",), help="A runtime; repeatable.")
@options.backend_options
@options.model_sizes
@click.option(
    "--no-run",
    "runs",
    flag_value=False,
    default=True,
    show_default=False,
    help="Run nothing: use only the texts, waivers and pins.",
)
@click.option(
    "--accept",
    type=click.Path(path_type=Path),
    help="A file of accepted findings, one in each line, as --json prints them under 'accept'.",
)
@click.option("--fix", type=options.FILE, help="Write the model to this file, with safe nodes for the unsafe ones.")
@click.option("--page", type=options.FILE, help="Write an HTML page to this file.")
@options.timeout()
@options.as_json
def command(
    models: tuple[Path, ...],
    backends: tuple[str, ...],
    option: dict[str, str],
    sizes: dict[str, int],
    accept: Path | None,
    fix: Path | None,
    page: Path | None,
    timeout: float,
    *,
    runs: bool,
    as_json: bool,
) -> int:
    """Say whether ONNX models are safe on runtimes: does each ConvTranspose give the output that its text demands?

    Each node is compared with the text of its operator set, and with the waivers and pins of each runtime. Then the
    node is run twice: alone, with the model's attributes, sizes, filter and bias; and together with the nodes next to
    it. If the model leaves a size open, give the size with --size. Without --size, two sizes are tried.

    The exit code is 1 if a node is unsafe, or if tconv cannot decide. With --no-run, it is 1 only if a node is unsafe.
    """
    if len(set(backends)) != len(backends):
        raise UsageError(f"--backend must name each runtime once (got {', '.join(backends)})")
    if fix is not None and len(models) > 1:
        raise UsageError(f"--fix must have one model (got {len(models)})")
    accepted = auditing.read_accepted(accept) if accept else ()
    with ExitStack() as stack:
        started = (closing(Runtime(Asking(name, None, option, timeout), runs=runs)) for name in backends)
        runtimes = [*map(stack.enter_context, started)]
        audits = [audit(path, sizes, runtimes) for path in models]
    if fix is not None:
        with writing(fix):
            fix.write_bytes(write_fixed(audits[0].model, audits[0].recipes).SerializeToString())
    summaries = [auditing.summarise(audits, runtime, accepted) for runtime in runtimes]
    if page is not None:
        atomic_write.write(page, auditing.page(audits, summaries))
    if as_json:
        write_output(json_text(auditing.plain(audits, summaries)), None)
    else:
        _print(audits, summaries, fix)
    answers = {summary.answer for summary in summaries}
    if "unsafe" in answers:
        return 1
    missing = next((runtime.missing for runtime in runtimes if runs and runtime.missing), "")
    if missing:
        raise BackendMissing(missing)
    return int(runs and "not known" in answers)


def _print(audits: Sequence[ModelAudit], summaries: Sequence[auditing.Summary], fix: Path | None) -> None:
    with printing():
        print_text("\n".join(auditing.first_lines(summaries)))
        for each in audits:
            print_text("\n" + "\n".join(auditing.lines(each)))
        if fix is not None:
            print_text(f"\nwritten: {fix}")
