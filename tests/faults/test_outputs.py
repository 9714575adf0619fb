"""Full disks, files too large, folders that cannot be written, few handles, two runs into one folder."""

from __future__ import annotations

import resource
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest

from faults.place import COUNT, IS_ROOT, RUN, WRONG
from tconv.execution.selection import name_of_cases

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from faults.place import Place

RIGHT = (*RUN, "wrong_backends:Right")
INTO = (*RIGHT, "--output", "out")
SIZES = (
    "size=4k", "size=16k", "size=40k", "size=200k", "nr_inodes=2", "nr_inodes=4", "nr_inodes=6", "nr_inodes=8", "nr_inodes=12", "ro"
)  # fmt: skip
IN_MOUNT = 'mount -t tmpfs -o {options} none "$0" && exec "$@"'
"""A new file system in the place of a folder, which only the command sees."""


def _records(folder: Path) -> Path:
    return folder / "out" / f"Right-1.0-onnx-ConvTranspose-22-{name_of_cases(folder / 'cases.yaml')}.jsonl"


def _link(path: Path, target: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(target)


def _artifacts(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out/artifacts").touch()


PLANS: dict[str, tuple[Callable[[Path], object], tuple[str, ...]]] = {
    "a folder that nobody can write": (lambda _: None, (*RIGHT, "--output", "/proc/none")),
    "a file for the folder": (lambda folder: (folder / "out").touch(), INTO),
    "a file above the folder": (lambda folder: (folder / "out").touch(), (*RIGHT, "--output", "out/below")),
    "a path that is too long": (lambda _: None, (*RIGHT, "--output", "o" * 300)),
    "waivers at a path that is too long": (lambda _: None, (*RUN[:3], "--waivers", "w" * 300)),
    "a full disk": (lambda folder: _link(_records(folder), "/dev/full"), INTO),
    "a folder for the records": (lambda folder: _records(folder).mkdir(parents=True), INTO),
    "a folder for the page": (
        lambda folder: (folder / f"out/{name_of_cases(folder / 'cases.yaml')}.html").mkdir(parents=True),
        INTO,
    ),
    "a folder for JUnit": (lambda folder: (folder / "j.xml").mkdir(), (*RIGHT, "--junit", "j.xml")),
    "a file for the artifacts": (_artifacts, (*RUN, "wrong_backends:PadsSwapped", "--output", "out")),
    "a full disk for JUnit": (lambda folder: _link(folder / "j.xml", "/dev/full"), (*RIGHT, "--junit", "j.xml")),
    "a link for the lock": (
        lambda folder: _link(folder / "out" / f".{_records(folder).name}.lock", str(folder / "outside")),
        INTO,
    ),
}


@pytest.mark.parametrize(("prepare", "arguments"), PLANS.values(), ids=PLANS)
def test_an_output_that_cannot_be_written(
    place: Place, prepare: Callable[[Path], object], arguments: tuple[str, ...]
) -> None:
    prepare(place.folder)
    place.check(place.run(*arguments), WRONG)


@pytest.mark.parametrize("number", range(12))
@pytest.mark.parametrize(
    ("kind", "first", "factor", "step"),
    [
        (resource.RLIMIT_FSIZE, 512, 2, 0),
        (resource.RLIMIT_NOFILE, 4, 1, 2),
        (resource.RLIMIT_AS, 60 * 2**20, 1, 60 * 2**20),
    ],
    ids=["size of files", "handles", "memory"],
)
def test_a_limit(place: Place, kind: int, first: int, factor: int, step: int, number: int) -> None:
    """Files are small, handles or memory few; with next to none of these Python itself does not start."""
    size = first * factor**number + step * number
    code = place.run(*RIGHT, preexec_fn=partial(resource.setrlimit, kind, (size, size)))
    started = kind == resource.RLIMIT_FSIZE or "tconv" in place.printed()
    ended_by_python = not started or code in {1, 127, -6, -11}
    if not ended_by_python or "tconv:" in place.printed():
        place.check(code, killed=True)


@pytest.mark.skipif(not IS_ROOT, reason="only root mounts file systems")
@pytest.mark.parametrize("options", SIZES)
@pytest.mark.parametrize("name", ["reports", "tmp"])
@pytest.mark.parametrize("backend", ["Right", "PadsSwapped"])
def test_a_small_disk(place: Place, options: str, name: str, backend: str) -> None:
    """It has few bytes, few inodes, or cannot be written: a run on it is never green by that."""
    (place.folder / name).mkdir(exist_ok=True)
    prefix = ("unshare", "--mount", "sh", "-c", IN_MOUNT.format(options=options), str(place.folder / name))
    code = place.run(*RUN, f"wrong_backends:{backend}", prefix=prefix)
    place.check(code, {0, 1, 2, 3})
    assert code or backend == "Right"


def test_two_runs_into_one_folder(place: Place) -> None:
    slow = (*RUN, "wrong_backends:Hangs", "--timeout", "30", "--output", "out")
    first = place.start(*slow)
    deadline = time.monotonic() + 60
    while not list(place.folder.glob("out/*.jsonl")) and time.monotonic() < deadline:
        time.sleep(0.05)
    with (place.folder / "second").open("wb") as output:
        second = place.end(place.start(*slow, stderr=output, stdout=output))
    place.check(place.end(first), {1})
    assert second == 2
    place.check_text(message := (place.folder / "second").read_text())
    assert ".jsonl" in message
    assert len(place.verdicts("out")) == COUNT
