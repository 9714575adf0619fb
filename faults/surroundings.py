"""Full disks, files too large, folders that cannot be written, few handles, two runs at once."""

from __future__ import annotations

import os
import resource
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from campaign import Surroundings, Tally
from processes import verdicts
from tconv.execution.selection import name_of_cases

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RUN = ("run", "--cases", "cases.yaml", "--waivers", "none", "-j", "1", "--backend", "wrong_backends:Right")
WRONG = frozenset({2})


def _records(folder: Path) -> str:
    """Return the name of the record file of a run in a folder."""
    return f"Right-1.0-onnx-ConvTranspose-22-{name_of_cases(folder / 'cases.yaml')}.jsonl"


def campaigns(count: int, seed: int) -> Iterator[Tally]:
    """Yield the tallies of the campaigns; what they inject is a list, and `count` limits those of numbers."""
    del seed
    yield outputs()
    yield limits(count)
    yield two_runs(min(count, 5))
    yield imports()


def outputs() -> Tally:
    """What stands where a file or a folder is to be written."""
    tally = Tally("outputs that cannot be written")
    plans: dict[str, tuple[Callable[[Path], object], tuple[str, ...]]] = {
        "a folder that nobody can write": (lambda _: None, (*RUN, "--output", "/proc/none")),
        "a file for the folder": (lambda folder: (folder / "out").touch(), (*RUN, "--output", "out")),
        "a file above the folder": (lambda folder: (folder / "out").touch(), (*RUN, "--output", "out/below")),
        "a path that is too long": (lambda _: None, (*RUN, "--output", "o" * 300)),
        "cases at a path that is too long": (lambda _: None, ("check", "c" * 300)),
        "records at a path that is too long": (lambda _: None, ("report", "r" * 300)),
        "waivers at a path that is too long": (lambda _: None, (*RUN[:3], "--waivers", "w" * 300)),
        "a full disk": (
            lambda folder: _linked(folder / "out" / _records(folder), "/dev/full"),
            (*RUN, "--output", "out"),
        ),
        "a folder for the records": (
            lambda folder: (folder / "out" / _records(folder)).mkdir(parents=True),
            (*RUN, "--output", "out"),
        ),
        "a folder for the page": (
            lambda folder: (folder / f"out/{name_of_cases(folder / 'cases.yaml')}.html").mkdir(parents=True),
            (*RUN, "--output", "out"),
        ),
        "a folder for JUnit": (lambda folder: (folder / "j.xml").mkdir(), (*RUN, "--junit", "j.xml")),
        "a file for the artifacts": (
            lambda folder: ((folder / "out").mkdir(), (folder / "out/artifacts").touch()),
            (*RUN[:-1], "wrong_backends:PadsSwapped", "--output", "out"),
        ),
        "a full disk for JUnit": (lambda folder: _linked(folder / "j.xml", "/dev/full"), (*RUN, "--junit", "j.xml")),
        "a link for the lock": (
            lambda folder: _linked(folder / "out" / f".{_records(folder)}.lock", str(folder / "outside")),
            (*RUN, "--output", "out"),
        ),
    }
    for name, (prepare, arguments) in plans.items():
        with Surroundings() as surroundings:
            prepare(surroundings.folder)
            tally.count(name, surroundings.wrong(surroundings.run(*arguments), WRONG))
    return tally


def _linked(path: Path, target: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(target)


def limits(count: int) -> Tally:
    """Files no larger than a few blocks, few handles, little memory."""
    tally = Tally("limits of files, handles and memory")
    steps = max(1, min(count // 8, 12))
    plans = [(resource.RLIMIT_FSIZE, 512 * 2**number) for number in range(steps)]
    plans += [(resource.RLIMIT_NOFILE, 4 + 2 * number) for number in range(steps)]
    plans += [(resource.RLIMIT_AS, 2**20 * (60 + 60 * number)) for number in range(steps)]
    for kind, size in plans:
        with Surroundings() as surroundings:
            code = surroundings.run(*RUN, preexec_fn=partial(resource.setrlimit, kind, (size, size)))
            # With next to no handles or memory, Python itself does not start.
            started = kind == resource.RLIMIT_FSIZE or "tconv" in surroundings.printed()
            printed_by_python = not started or code in {1, 127, -6, -11}
            wrong = (
                None
                if printed_by_python and "tconv:" not in surroundings.printed()
                else surroundings.wrong(code, killed=True)
            )
            tally.count(f"{kind} at {size}", wrong)
    return tally


def two_runs(count: int) -> Tally:
    """Two runs of one backend into one folder: the first comes to its end, and the second names it."""
    tally = Tally("two runs into one folder")
    for _ in range(count):
        with Surroundings() as surroundings:
            slow = (*RUN[:-1], "wrong_backends:Hangs", "--timeout", "30", "--tier", "full", "--output", "out")
            first = surroundings.start(*slow)
            deadline = time.monotonic() + 60
            while not list(surroundings.folder.glob("out/*.jsonl")) and time.monotonic() < deadline:
                time.sleep(0.05)
            with (surroundings.folder / "second").open("wb") as output:
                second = surroundings.start(*slow, stderr=output, stdout=output)
                codes = surroundings.ended(second), surroundings.ended(first)
            wrong = surroundings.wrong(codes[1], frozenset({1}))
            message = (surroundings.folder / "second").read_text()
            if not wrong and (codes[0] != 2 or f"process {first.pid} on" not in message):
                wrong = f"the second ended with {codes[0]}: {message[-200:]!r}"
            if not wrong and len(verdicts(surroundings) or _verdicts_of(surroundings)) != 25:
                wrong = "records are missing"
            tally.count("two runs", wrong)
    return tally


def _verdicts_of(surroundings: Surroundings) -> dict[str, str]:
    (surroundings.folder / "out").rename(surroundings.folder / "reports")
    return verdicts(surroundings)


def imports() -> Tally:
    """Each library that only some backends need is missing, broken on import, or ends the process on import."""
    tally = Tally("libraries that are missing or broken")
    backends = {"onnxruntime": "onnxruntime", "openvino": "openvino", "torch": "torch", "jax": "jax", "cv2": "opencv"}
    texts = {
        "missing": "raise ModuleNotFoundError('No module named')",
        "broken": "raise RuntimeError('half \\udcff \\x1b[31m installed')",
        "deadly": "import os; os.abort()",
        "exits": "raise SystemExit(0)",
    }
    for module, backend in backends.items():
        for how, text in texts.items():
            with Surroundings() as surroundings:
                (surroundings.folder / f"{module}.py").write_text(text)
                path = os.pathsep.join([str(surroundings.folder), surroundings.environment()["PYTHONPATH"]])
                code = surroundings.run(*RUN[:-1], backend, env=surroundings.environment(PYTHONPATH=path))
                tally.count(f"{module} {how}", surroundings.wrong(code, frozenset({3})))
    return tally
