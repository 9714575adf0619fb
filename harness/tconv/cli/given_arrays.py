"""A call as arrays in .npy files and attributes, and what is judged of its output, without a case and a backend."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import ml_dtypes
import numpy as np

from tconv.api import DEFAULT_DIALECT, assert_conforms
from tconv.cli import call_options
from tconv.cli.output import print_text
from tconv.corpus.budget import MOST_ELEMENTS
from tconv.errors import FileError, UsageError
from tconv.reports.phrases import headline
from tconv.vocabulary import DataFormat, DType, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tconv.vocabulary import Array

_Command = TypeVar("_Command", bound="Callable[..., Any]")
_FILES = {"x": "The data", "w": "The filter", "y": "The output to judge", "bias": "The bias, if any"}
_NEEDED = ("x", "w", "y")
_BITS = (np.dtype(np.uint16), np.dtype("V2"))
"""How a file has bfloat16, which .npy has no name for: as bit patterns, or as numpy writes ml_dtypes' type."""


def given_arrays(command: _Command) -> _Command:
    """Add the options of a call's files, its attributes and its layouts."""
    command = click.option(
        "--accumulates",
        type=click.Choice([DType.F16.value, DType.BF16.value, DType.F32.value]),
        default=None,
        help="With --y: the type in which products of f16 or bf16 are added; default: f32.",
    )(command)
    for name, formats in (("--filter-format", FilterFormat), ("--data-format", DataFormat)):
        words = click.Choice([word.value for word in formats])
        command = click.option(name, type=words, default=None, help="With --y. Default: the dialect's.")(command)
    command = call_options.attributes(command)
    for name, what in reversed(_FILES.items()):
        file = click.Path(path_type=Path, dir_okay=False)
        command = click.option(f"--{name}", type=file, default=None, help=f"{what}, a .npy file.")(command)
    return command


def judge(values: Mapping[str, Any], dialect: str | None) -> int:
    """Print whether an output conforms and, where it does not, why; return the exit code.

    Args:
        values: those of the options of `given_arrays` that were given, by name.
        dialect: the name of the dialect whose text is asked; None for the default of the Python interface.

    Raises:
        FileError: a file is no array, or they are too large.
        UsageError: a file is missing, or a value is not as it must be.
    """
    if lacking := [f"--{name}" for name in _NEEDED if name not in values]:
        raise UsageError(f"arrays must be --x, --w and --y, and perhaps --bias (got no {' and no '.join(lacking)})")
    arrays = _loaded({name: values[name] for name in _FILES if name in values})
    attributes: dict[str, Any] = {
        name: call_options.single(value) for name, value in values.items() if name not in _FILES
    }
    try:
        verdict = assert_conforms(**arrays, dialect=dialect or DEFAULT_DIALECT, **attributes)
    except AssertionError as error:
        for line in str(error).splitlines():
            print_text(line)
        return 1
    print_text(f"y conforms to {dialect or DEFAULT_DIALECT}: {headline(verdict)}")
    return 0


def _loaded(paths: Mapping[str, Path]) -> dict[str, Any]:
    arrays: dict[str, Any] = {}
    remaining = MOST_ELEMENTS
    for name, path in paths.items():
        mapped = _mapped(path)
        if (remaining := remaining - mapped.size) < 0:
            raise FileError(path, f"all arrays together must have at most {MOST_ELEMENTS} elements (got more)")
        array: Array = np.array(mapped)
        arrays[name] = array.view(ml_dtypes.bfloat16) if array.dtype in _BITS else array
    return arrays


def _mapped(path: Path) -> Array:
    """Return the array of a file that is not read yet: numpy compares the sizes of header and file first."""
    if not path.is_file():
        raise FileError(path, "must be a .npy file (got no file there)")
    try:
        array: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError, OverflowError, MemoryError) as error:
        # numpy advises to allow pickle, which may run what the file says.
        got = "another format, or objects" if "pickle" in str(error) else error
        raise FileError(path, f"must be a .npy file of numbers (got: {got})") from None
    if not isinstance(array, np.ndarray):
        raise FileError(path, "must be a .npy file with one array (got an .npz archive)")
    return array
