"""A corpus of a few cases for tests that run, in this process or as `python -m tconv`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from tconv.corpus import Corpus
from tconv.execution.asking import Asking
from tconv.execution.run import RunSettings, run
from tconv.execution.selection import Selection, name_of_cases
from tconv.gate.assessment import assess
from tconv.records.record_file import read

if TYPE_CHECKING:
    from tconv.gate.assessment import Assessment
    from tconv.gate.waivers import WaiverFile

Command = Callable[..., subprocess.CompletedProcess[str]]
"""What the fixture `command` gives."""
BARE_HEAD = """\
format: 1
about: What the tests of the harness run.
cites: [{dialect: onnx/ConvTranspose-22, clause: doc}]
"""
HEAD = f"""\
{BARE_HEAD}base: {{channels: 4, out_channels: 6, groups: 2, bias: true, spatial: [5], kernel: [3]}}
"""
CASES = f"""{HEAD}
cases:
  - {{name: plain}}
  - {{name: padded, with: {{strides: 2, pads_begin: 1}}}}
  - {{name: trouble, with: {{strides: 7}}}}
  - {{name: not-a-number, with: {{x: {{data: nan}}}}}}
  - {{name: invalid, with: {{breaks: pads-without-auto-pad, auto_pad: same_upper, pads_begin: 1}}}}
  - {{name: after, with: {{strides: 3}}}}
"""
NAMES = ("plain", "padded", "trouble", "not-a-number", "invalid", "after")
VALID = tuple(name for name in NAMES if name != "invalid")
TIMEOUT = 3.0
"""Seconds; nothing but a backend that never answers takes nearly as long."""


def written(folder: Path, text: str = CASES, name: str = "small.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def settings(backend: str, folder: Path, *, jobs: int = 1, resume: bool = False) -> RunSettings:
    return RunSettings(Asking(f"wrong_backends:{backend}", timeout=TIMEOUT), folder / "out", jobs, resume=resume)


def records(backend: str, folder: Path, text: str = CASES, *, jobs: int = 1, resume: bool = False) -> Path:
    """Run a backend on a corpus and return the record file."""
    corpus = Corpus.load(written(folder, text))
    return run(Selection(corpus), settings(backend, folder, jobs=jobs, resume=resume), lambda *_: None).path


def assessed(
    backend: str, folder: Path, text: str = CASES, waivers: WaiverFile | None = None, *, strict: bool = False
) -> Assessment:
    """Run a backend on a corpus and return what it comes to."""
    path = records(backend, folder, text)
    return assess(read(path), waivers, Corpus.load(folder / "small.yaml").find_facts, strict=strict)


def record_file(folder: Path, backend: str = "Right", output: str = "out", part: str = "") -> Path:
    """Return the record file of `tconv run --cases small.yaml` with one of `wrong_backends`."""
    cases = name_of_cases(folder / "small.yaml")
    return folder / output / f"{backend}-1.0-onnx-ConvTranspose-22-{cases}{part}.jsonl"


def bodies(path: Path) -> list[str]:
    """Return a record file's lines after the header, sorted, without the seconds."""
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines()[1:])
    return sorted(json.dumps(line | {"seconds": 0}, sort_keys=True) for line in lines)


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a child that finds the modules of this folder and writes no escape codes by choice."""
    own = {name: value for name, value in os.environ.items() if name not in {"FORCE_COLOR", "CLICOLOR_FORCE"}}
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    return own | {"PYTHONPATH": path} | more


def tconv(folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder and return what came of it.

    What it prints goes to files: a process that it leaves behind would hold pipes, and we would wait for its end.
    """
    command = [sys.executable, "-m", "tconv", *arguments]
    with TemporaryFile("w+", encoding="utf-8") as out, TemporaryFile("w+", encoding="utf-8") as err:
        done = subprocess.run(command, cwd=folder, env=environment(**more), stdout=out, stderr=err, check=False)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(command, done.returncode, out.read(), err.read())
