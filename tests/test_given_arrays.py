"""`tconv explain` of files: the output of a call that was made elsewhere is judged, and nothing is run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from ml_dtypes import bfloat16

from tconv import conv_transpose

if TYPE_CHECKING:
    from pathlib import Path

    from small_corpus import Command
    from tconv.vocabulary import Array


def saved(folder: Path, **arrays: Array) -> list[str]:
    """Write arrays as files, and return the options that name them."""
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    return [word for name in arrays for word in (f"--{name}", f"{name}.npy")]


BIAS = np.array([5], np.float32)
DATA, FILTER = np.array([[[1, 2, 3]]], np.float32), np.array([[[1, 10, 100]]], np.float32)


def test_an_output_of_files_is_judged_and_explained(command: Command, tmp_path: Path) -> None:
    """With the attributes of its call; nothing is run. Exit code 1 where it does not conform."""
    y = conv_transpose(DATA, FILTER, BIAS, strides=2).astype(np.float32)
    files = saved(tmp_path, x=DATA, w=FILTER, bias=BIAS, y=y)
    done = command("explain", *files, "--strides", "2")
    assert (done.returncode, done.stdout) == (0, "y conforms to onnx/ConvTranspose-22: agreed: exact\n")
    saved(tmp_path, y=y + BIAS)
    done = command("explain", *files, "--strides", "2", "--dialect", "onnx/ConvTranspose-11")
    assert done.returncode == 1
    assert done.stdout.startswith("y must conform to onnx/ConvTranspose-11 (got differed: 7 of 7 elements; ")
    assert "  explained  as if bias-doubled: " in done.stdout


@pytest.mark.parametrize("bits", [np.uint16, "V2"])
def test_bfloat16_comes_as_its_bits(bits: str, command: Command, tmp_path: Path) -> None:
    """As a runner writes it, or as numpy names the type of ml_dtypes."""
    arrays = (DATA, FILTER, conv_transpose(DATA, FILTER))
    files = saved(tmp_path, **{name: a.astype(bfloat16).view(bits) for name, a in zip("xwy", arrays, strict=True)})
    done = command("explain", *files, "--dialect", "onnx/ConvTranspose-22")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "tconv: there must be CASE, RECORDS, --backend, or the arrays of a call: --x, --w and --y"),
        ("--x x.npy --bias x.npy", "--x, --w and --y, and perhaps --bias (got no --w and no --y)"),
        ("small/plain --x x.npy", "--x must be without CASE or RECORDS, --backend, --option, --cases: nothing is run"),
        ("small/plain --data-format NXC", "--data-format must be without CASE or RECORDS"),
        ("--x x.npy --w x.npy --y none.npy", "none.npy: must be a .npy file (got no file there)"),
        ("--x x.npy --w x.npy --y text.npy", "text.npy: must be a .npy file of numbers (got: another format, or obj"),
        ("--x x.npy --w x.npy --y cut.npy", "cut.npy: must be a .npy file of numbers (got: "),
        ("--x x.npy --w x.npy --y many.npz", "many.npz: must be a .npy file with one array (got an .npz archive)"),
        ("--x x.npy --w large.npy --y x.npy", "large.npy: all arrays together must have at most 16777216 elements"),
        ("--x x.npy --w x.npy --y x.npy --strides 2 2 2", "must be one word, --strides 2,2,2"),
    ],
)
def test_files_that_are_no_arrays_of_a_call(arguments: str, message: str, command: Command, tmp_path: Path) -> None:
    """One line and exit code 2, before anything of a file is unpacked or much is read."""
    saved(tmp_path, x=DATA)
    (tmp_path / "text.npy").write_text("no array")
    (tmp_path / "cut.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:-4])
    np.savez(tmp_path / "many.npz", x=DATA)
    np.lib.format.open_memmap(tmp_path / "large.npy", "w+", np.float32, (1, 1, 2**24))
    done = command("explain", *arguments.split())
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert message in done.stderr
