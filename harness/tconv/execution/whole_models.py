"""An ONNX model that a backend runs in a separate process. If it ends the process, that is the outcome.

Only data of this command is unpickled; an output is read as a plain array, and all else as text.
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from tconv.backends import BackendError, Crashed, Produced, Refused, TimedOut, Unsupported, create
from tconv.backends.process_end import ending, last_words
from tconv.cases.call import Call, Input
from tconv.dialects import find_dialect
from tconv.execution.call import checked
from tconv.shown_texts import raised
from tconv.vocabulary import Attributes, DataFormat, DType, FilterFormat, Signature, TensorType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.backends import Outcome
    from tconv.execution.asking import Asking
    from tconv.vocabulary import Array

_LOADING = 60.0
"""Seconds for the start of the process, in addition to those of the model."""
_KINDS = {kind.__name__: kind for kind in (Refused, Unsupported, BackendError)}


def run_model(asking: Asking, model: bytes, feeds: Mapping[str, Array], dialect_name: str) -> Outcome:
    """Return what a backend does with a model; only its first output is kept.

    Args:
        asking: how the backend is asked.
        model: the serialised model.
        feeds: the arrays of its inputs by name, in the model's order.
        dialect_name: the dialect for the start of an `exec:` runner.
    """
    with TemporaryDirectory(prefix="tconv-model-") as name:
        folder = Path(name)
        sent = asking.backend, dict(asking.options), asking.timeout, asking.isolate, dialect_name
        (folder / "sent").write_bytes(pickle.dumps((sent, sys.path, model, dict(feeds))))
        with (folder / "log").open("wb") as log:
            words = [sys.executable, "-m", __name__, name]
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)  # noqa: S603 - our own words
            end: Outcome
            try:
                code = process.wait(_LOADING + asking.timeout)
                end = Crashed(ending(code), last_words(folder / "log"))
            except subprocess.TimeoutExpired:
                end = TimedOut(asking.timeout)
            finally:
                process.kill()
                process.wait()
        # It may be there even if the process did not end as it should: then this is the outcome.
        if not (folder / "said.json").exists():
            return end
        kind, text = json.loads((folder / "said.json").read_text(encoding="utf-8"))
        return _KINDS[kind](text) if kind in _KINDS else Produced(np.load(folder / "y.npy", allow_pickle=False))


def _main(folder: Path) -> None:
    """Run the model of a folder, and write its outcome."""
    sent, path, model, feeds = pickle.loads((folder / "sent").read_bytes())  # noqa: S301 - what the command sends
    spec, options, timeout, isolate, dialect_name = sent
    # A backend may be a module that only the command can import.
    sys.path[:] = path
    backend = create(spec, options, timeout, isolate, dialect_name)
    try:
        outcome = checked(backend.run(_call(model, feeds, dialect_name), feeds))
    except Exception as error:  # noqa: BLE001 - an exception that leaves a backend is an outcome too
        outcome = BackendError(raised(error))
    match outcome:
        case Produced(array):
            np.save(folder / "y.npy", array, allow_pickle=False)
            said = ["Produced", ""]
        case Refused(text) | Unsupported(text) | BackendError(text):
            said = [type(outcome).__name__, text]
        case _:
            said = ["BackendError", str(outcome)]
    partial = folder / "said.partial"
    partial.write_text(json.dumps(said), encoding="utf-8")
    partial.rename(folder / "said.json")


def _call(model: bytes, feeds: Mapping[str, Array], dialect_name: str) -> Call:
    inputs = tuple(Input(name, name, array.shape, None) for name, array in feeds.items())
    nothing = TensorType((1, 1, 1), DType.F32)
    written = Signature(Attributes(), nothing, nothing, None)
    layouts = DataFormat.NCX, FilterFormat.IOX
    return Call(find_dialect(dialect_name), {}, inputs, *layouts, 1, "static", written, model=model)


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
