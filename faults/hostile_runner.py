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
    "broke": {"broke": TEXT * 30_000},
    "nested": {"refused": [[[]]]},
    "number": {"refused": 10**400},
}


def say(message: object) -> None:
    """Write a line."""
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
    with socket.socket() as one, suppress(ConnectionRefusedError):
        one.connect(("127.0.0.1", 9))
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


def harm(run: dict[str, object]) -> None:
    """Do what the argument says, before the reply."""
    output, folder = Path(str(run["output"])), Path(str(run["output"])).parent
    files = [Path(str(file)) for file in run.get("inputs", {}).values()]  # type: ignore[attr-defined]  # a mapping
    if HOW == "links":
        for path in [*files, output, folder / "stderr", folder / "output_0.npy"]:
            path.unlink(missing_ok=True)
            path.symlink_to(OUTSIDE)
    elif HOW in {"folders", "pipes"}:
        for path in [*files, output]:
            path.unlink(missing_ok=True)
            path.mkdir() if HOW == "folders" else os.mkfifo(path)
    elif HOW == "removes-folder":
        shutil.rmtree(folder)
    elif HOW == "replaces-folder":
        shutil.rmtree(folder)
        folder.symlink_to(Path(OUTSIDE).parent)
    elif HOW == "sparse-stderr":
        os.ftruncate(2, 3 * 2**30)
        os.abort()
    elif HOW == "prints":
        for _ in range(200):
            os.write(2, TEXT.encode("utf-8", "replace") * 5000)
        os.abort()
    elif HOW == "claims-gigabytes":
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (8589934592,), }"
        output.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    elif HOW == "sparse-output":
        with output.open("wb") as file:
            file.truncate(2**40)
    elif HOW == "grandchild":
        subprocess.Popen(["sleep", "300"], start_new_session=True)  # noqa: S607 - the system's
    elif HOW == "stops":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif HOW == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(300)
    elif HOW == "kills-parent":
        os.kill(os.getppid(), signal.SIGKILL)
    elif HOW in {"abort", "exit"}:
        os.abort() if HOW == "abort" else os._exit(0)
    elif HOW == "bytes":
        os.write(1, bytes(range(256)) * 20)
    elif HOW == "endless-line":
        os.write(1, b"x" * 2**22)
    elif HOW == "forks-on":
        fork_on()
    elif HOW == "fills-folder":
        for number in range(2000):
            (folder / str(number)).write_bytes(b"x")
    elif HOW in ONLY_CONFINED:
        with suppress(OSError):
            ONLY_CONFINED[HOW]()


def main() -> None:
    """Answer until the input ends."""
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
