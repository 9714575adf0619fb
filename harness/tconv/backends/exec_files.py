"""The files of a call of `exec:` and of its output, in new folders for each call."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
from numpy.lib.format import MAGIC_PREFIX, open_memmap

from tconv.backends.exec_child import Unusable
from tconv.backends.onnx_model import build
from tconv.backends.process_end import own_file
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.cases.call import Call
    from tconv.vocabulary import Array

_LARGEST_OUTPUT = 2**30
_LONGEST_HEADER = 10_000
"""numpy's own limit; numpy checks it only after it has read the header."""


class ExecFiles:
    """The folders of one call, below a folder of the pool, which removes them even if the worker is killed.

    Our files are outside of the folder that a confined child may write to, so no link of it can redirect us.

    Args:
        writable: the only folder that the child may write to; None if it is not confined.

    Attributes:
        output: the path for the child's output.
    """

    def __init__(self, writable: str | None) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="tconv-exec-"))
        try:
            self._answers = Path(tempfile.mkdtemp(prefix="tconv-exec-", dir=writable))
        except BaseException:
            self._folder.rmdir()
            raise
        self.output = self._answers / "output_0.npy"

    def written(self, call: Call, arrays: Mapping[str, Array]) -> dict[str, Any]:
        """Write the call's model or arrays to files; return the request's keys for them."""
        if call.dialect.opset is not None:
            model = self._folder / "model.onnx"
            with model.open("xb") as file:
                file.write(build(call, arrays).SerializeToString())
            feeds = call.feeds(arrays).values()
            return {"model": str(model), "inputs": [self._saved(f"input_{i}", array) for i, array in enumerate(feeds)]}
        return {
            "dialect": call.dialect.name,
            "attributes": dict(call.attributes),
            # The layouts of the arrays, even if the dialect has no attribute for them.
            "data_format": call.data_format,
            "filter_format": call.filter_format,
            "groups": call.groups,
            "dtype": call.dtype,
            "inputs": {name: self._saved(name, array) for name, array in call.operands(arrays).items()},
            "constants": [tensor.name for tensor in call.inputs if tensor.constant],
            "shapes": call.shapes,
        }

    def _saved(self, name: str, array: Array) -> str:
        path = self._folder / f"{name}.npy"
        bits = array.view(np.uint16) if array.dtype == ml_dtypes.bfloat16 else array
        # Mode "x" follows no link. C order, so that a child needs only one way to read it.
        with path.open("xb") as file:
            np.save(file, np.asarray(bits, order="C"), allow_pickle=False)
        return str(path)

    def loaded(self, call: Call) -> Array:
        """Return the child's output.

        Raises:
            Unusable: there is none, or it is no array.
        """
        try:
            with own_file(self.output) as file:
                size, start = os.fstat(file.fileno()).st_size, file.read(12)
        except OSError:
            raise Unusable("ok must come with an output file (got none)") from None
        if size > _LARGEST_OUTPUT:
            raise Unusable(f"an output file must have at most {_LARGEST_OUTPUT} bytes (got {size})")
        # The length of the header follows the magic string and the version; in version 1 it has two bytes.
        header = int.from_bytes(start[8 : 10 if start[6:7] == b"\x01" else 12], "little")
        if start.startswith(MAGIC_PREFIX) and header > _LONGEST_HEADER:
            raise Unusable(f"the header of an output file must have at most {_LONGEST_HEADER} bytes (got {header})")
        try:
            # Mapped: numpy compares the sizes of header and file before it allocates memory.
            array: Array = np.array(open_memmap(self.output, mode="r"))
        except (ValueError, EOFError, OSError, OverflowError, MemoryError) as error:
            raise Unusable(f"an output file must be a .npy array (got: {error})") from None
        bits = call.dtype is DType.BF16 and array.dtype == np.uint16
        return array.view(ml_dtypes.bfloat16) if bits else array

    def remove(self) -> None:
        """Remove the folders; no link in them is followed, and errors are ignored."""
        for folder in (self._folder, self._answers):
            shutil.rmtree(folder, ignore_errors=True)
