"""A child of `exec:` that answers rightly, and does on the case with stride 7 what its argument says; in numpy alone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

HOW, OUTSIDE = sys.argv[1], sys.argv[2]
TEXT = "\x1b[2J\x9b31m\0\u202e\u2028\ud800<script>alert(1)</script>"
HELLOS = {
    "name": {"name": TEXT},
    "version": {"version": TEXT},
    "long-name": {"name": "n" * 5000},
    "path-name": {"name": "../../outside"},
    "no-name": {"name": ""},
    "list-name": {"name": ["a"]},
    "dialect": {"dialect": TEXT},
}
REPLIES = {
    "refuses": {"refused": TEXT},
    "unsupported": {"unsupported": TEXT},
    "backend-error": {"backend-error": TEXT * 30_000},
    "nested": {"refused": [[[]]]},
    "number": {"refused": 10**400},
}


def say(message: object) -> None:
    os.write(1, (json.dumps(message) + "\n").encode())


def fork_on() -> None:
    """Leave a process that goes on as another, in another session, a hundred times a second."""
    if os.fork() == 0:
        for _ in range(3000):
            time.sleep(0.01)
            if os.fork():
                os._exit(0)
            os.setsid()
        os._exit(0)


def frees_itself() -> None:
    """Write outside after all is made writable again, as root of a user namespace of its own."""
    script = 'mount -o remount,bind,rw /; echo x > "$0"'
    for prefix in ([], ["unshare", "--user", "--map-root-user", "--mount"]):
        subprocess.run([*prefix, "sh", "-c", script, OUTSIDE], capture_output=True, check=False)


def connects() -> None:
    """Write outside where the network can be reached."""
    with socket.socket() as connection, suppress(ConnectionRefusedError):
        connection.connect(("127.0.0.1", 9))
    Path(OUTSIDE).write_text("connected")


def kills_all() -> None:
    """Kill every process of the namespace, where it is the child's own, and not the machine's."""
    if os.getpid() < 10:
        os.kill(-1, signal.SIGKILL)


ONLY_CONFINED = {
    "writes-outside": lambda: Path(OUTSIDE).write_text("written"),
    "connects": connects,
    "kills-all": kills_all,
    "frees-itself": frees_itself,
}


class Place(NamedTuple):
    """The files of a call that a child may spoil: its inputs, its output, and the folder of both."""

    files: list[Path]
    output: Path

    @property
    def folder(self) -> Path:
        return self.output.parent


def links(place: Place) -> None:
    for path in [*place.files, place.output, place.folder / "stderr", place.folder / "output_0.npy"]:
        path.unlink(missing_ok=True)
        path.symlink_to(OUTSIDE)


def replace_files(place: Place, make: Callable[[Path], object]) -> None:
    """Replace inputs and output by what is no file."""
    for path in [*place.files, place.output]:
        path.unlink(missing_ok=True)
        make(path)


def replace_folder(place: Place) -> None:
    shutil.rmtree(place.folder)
    place.folder.symlink_to(Path(OUTSIDE).parent)


def extend_stderr(_: Place) -> None:
    """Die, with gigabytes of zeros on standard error that the disk does not hold."""
    os.ftruncate(2, 3 * 2**30)
    os.abort()


def print_much(_: Place) -> None:
    for _each in range(200):
        os.write(2, TEXT.encode("utf-8", "replace") * 5000)
    os.abort()


def claim_gigabytes(place: Place) -> None:
    """Write an output whose header says more than it holds."""
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (8589934592,), }"
    place.output.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)


def extend_output(place: Place) -> None:
    """Write an output of a terabyte of zeros that the disk does not hold."""
    with place.output.open("wb") as file:
        file.truncate(2**40)


def ignore_sigterm(_: Place) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(300)


def fill_folder(place: Place) -> None:
    for number in range(2000):
        (place.folder / str(number)).write_bytes(b"x")


HARMS: dict[str, Callable[[Place], object]] = {
    "links": links,
    "folders": lambda place: replace_files(place, Path.mkdir),
    "pipes": lambda place: replace_files(place, os.mkfifo),
    "removes-folder": lambda place: shutil.rmtree(place.folder),
    "replaces-folder": replace_folder,
    "sparse-stderr": extend_stderr,
    "prints": print_much,
    "claims-gigabytes": claim_gigabytes,
    "sparse-output": extend_output,
    "grandchild": lambda _: subprocess.Popen(["sleep", "300"], start_new_session=True),  # noqa: S607 - the system's
    "stops": lambda _: os.kill(os.getpid(), signal.SIGSTOP),
    "deaf": ignore_sigterm,
    "kills-parent": lambda _: os.kill(os.getppid(), signal.SIGKILL),
    "abort": lambda _: os.abort(),
    "exit": lambda _: os._exit(0),
    "bytes": lambda _: os.write(1, bytes(range(256)) * 20),
    "endless-line": lambda _: os.write(1, b"x" * 2**22),
    "forks-on": lambda _: fork_on(),
    "fills-folder": fill_folder,
}
"""What is done before the reply, by the argument that asks for it."""


def harm(run: dict[str, object]) -> None:
    files = [Path(str(file)) for file in run.get("inputs", {}).values()]  # type: ignore[attr-defined]  # a mapping
    if HOW in HARMS:
        HARMS[HOW](Place(files, Path(str(run["output"]))))
    elif HOW in ONLY_CONFINED:
        with suppress(OSError):
            ONLY_CONFINED[HOW]()


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "hello" in message:
            if HOW == "dies-at-hello":
                os.abort()
            say({"name": "hostile", "version": "1", "dialect": "geometry/1"} | HELLOS.get(HOW, {}))
            continue
        run = message["run"]
        if run["attributes"].get("strides") == [7]:
            harm(run)
            if HOW in REPLIES:
                say({"id": run["id"]} | REPLIES[HOW])
                continue
            if HOW in {"claims-gigabytes", "sparse-output", "links", "folders", "pipes"}:
                say({"id": run["id"], "ok": True})
                continue
        say({"id": run["id"], "unsupported": "only on the case with stride 7"})


main()
