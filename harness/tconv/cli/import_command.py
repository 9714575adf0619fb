"""`tconv import`: turn tests of other projects into a case file."""

from __future__ import annotations

from pathlib import Path

import click

from tconv.cli import options
from tconv.cli.output import write_output
from tconv.corpus.writing import write_case_file
from tconv.export.imported import import_tests


@click.command(name="import")
@click.argument("folders", nargs=-1, required=True, metavar="FOLDER...", type=click.Path(path_type=Path))
@click.option("--output", type=options.FILE, help="The case file; default: standard output.")
def command(folders: tuple[Path, ...], output: Path | None) -> int:
    """Write ONNX node tests of ConvTranspose as a case file, with their data and expected outputs.

    FOLDER is a test with model.onnx and test_data_set_0, or a folder of such tests. `tconv run --cases FILE` runs the
    cases on a backend, and `tconv check FILE` compares the expected outputs with the reference.
    """
    cases = import_tests(folders)
    write_output(write_case_file(cases, "Node tests of ONNX."), output)
    return 0
