"""A process without network that can write only to its own folders, by Linux namespaces; it needs no rights.

As a script, it starts a command in such a process, and in a process namespace: all its processes end with it.

    python -I -S confinement.py DESCRIPTOR FOLDER COMMAND...

If this is not possible, the script writes the reason to the file descriptor. It ends as the command ends. It loads
nothing of tconv and little of Python, as every start of a child waits for it.
"""

from __future__ import annotations

import ctypes
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    # To load typing takes as long as all else here.
    from typing import Any

_NEW_MOUNTS, _NEW_IPC, _NEW_USER, _NEW_PROCESSES, _NEW_NETWORK = 0x20000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
_BIND, _RECURSIVE, _PRIVATE = 0x1000, 0x4000, 0x40000
_NO_SUID_DEVICES_EXECUTION = 0x2 | 0x4 | 0x8
_MOUNT_SETATTR, _HERE, _ALL_BELOW, _READ_ONLY = 442, -100, 0x8000, 1
"""The number of the system call, which is the same on all processors, and its arguments."""
_SET_SECUREBITS, _ROOT_HAS_NOTHING, _SET_NO_NEW_PRIVILEGES, _SET_DEATH_SIGNAL = 28, 0x3, 38, 1
_SET_DUMPABLE, _SIGKILL = 4, 9
"""To load the module signal takes longer than all else here."""
_CAPABILITIES_VERSION = 0x20080522
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a new one, which no other process sees
_FAILED = 125
IMPOSSIBLE, NOT_STARTED = b"i", b"n"
"""The first byte of the script's message: nothing can be confined, or the command cannot be started."""

WORDS = "no network, and nothing to write to but folders of its own"
"""The entry in the header of records for a confined process."""


def confine(*folders: str, processes: bool = False) -> None:
    """Confine this process, which has one thread, and all that it starts.

    Args:
        folders: absolute paths of writable folders.
        processes: whether its children have a process namespace: if the first child ends, all others are killed.

    Raises:
        OSError: the system does not allow it; this process may then be confined in part.
    """
    if _LIBC is None:
        raise OSError(0, f"the system is {sys.platform}")
    user, group = os.getuid(), os.getgid()
    kinds = _NEW_USER | _NEW_MOUNTS | _NEW_NETWORK | _NEW_IPC | (_NEW_PROCESSES if processes else 0)
    _done(_LIBC.unshare(kinds), "unshare")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:  # noqa: PTH123 - pathlib takes long to load
            file.write(text)
    _mount(None, "/", None, _PRIVATE | _RECURSIVE)
    writable = list(folders)
    if os.path.isdir(_SHARED_MEMORY):  # noqa: PTH112 - pathlib takes long to load
        _mount("tmpfs", _SHARED_MEMORY, "tmpfs", 0)
        writable.append(_SHARED_MEMORY)
    for folder in folders:
        _mount(folder, folder, None, _BIND | _RECURSIVE)
    _set_mount("/", set_flags=_READ_ONLY)
    for folder in writable:
        _set_mount(folder, clear_flags=_READ_ONLY)
    if not processes:
        _give_up_rights()


def _mount(source: str | None, target: str, kind: str | None, flags: int) -> None:
    encoded = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    _done(_LIBC.mount(*encoded, ctypes.c_ulong(flags), None), f"mount {target}")


def _set_mount(target: str, set_flags: int = 0, clear_flags: int = 0) -> None:
    attributes = (ctypes.c_uint64 * 4)(set_flags, clear_flags, 0, 0)
    path = ctypes.c_char_p(os.fsencode(target))
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    _done(_LIBC.syscall(_MOUNT_SETATTR, _HERE, path, _ALL_BELOW, attributes, size), f"mount_setattr {target}")


def _give_up_rights() -> None:
    """Give up the rights over the namespaces, which could undo all of this; no program gives them back."""
    _done(_LIBC.prctl(_SET_SECUREBITS, _ROOT_HAS_NOTHING, 0, 0, 0), "prctl")
    _done(_LIBC.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "prctl")
    _done(_LIBC.capset((ctypes.c_uint32 * 2)(_CAPABILITIES_VERSION, 0), (ctypes.c_uint32 * 6)()), "capset")


def _done(result: int, call: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")


def main(descriptor: int, folder: str, command: list[str]) -> int:
    """Run a command confined, and end as it ends.

    Args:
        descriptor: the file descriptor for the reason if that is not possible.
        folder: the folder that the command may write to.
        command: its words.
    """
    reading, status = os.pipe()
    try:
        confine(folder, processes=True)
    except OSError as error:
        os.write(descriptor, IMPOSSIBLE + (error.strerror or str(error)).encode())
        return _FAILED
    if os.fork() == 0:
        os.close(reading)
        _first_process(status, descriptor, command)
    _let_go(status, descriptor)
    status_bytes = os.read(reading, 4)
    # If the first process wrote nothing, it was killed, and its namespace with it.
    code = int.from_bytes(status_bytes, "little", signed=True) if status_bytes else -_SIGKILL
    if code < 0:
        # End by the same signal, without a core dump.
        _LIBC.prctl(_SET_DUMPABLE, 0, 0, 0, 0)
        # None is the default action.
        _LIBC.signal(-code, None)
        os.kill(os.getpid(), -code)
    return code


def _first_process(status: int, descriptor: int, command: list[str]) -> None:
    """Start the command, wait for all processes of the namespace, and end when the command has ended."""
    _LIBC.prctl(_SET_DEATH_SIGNAL, _SIGKILL, 0, 0, 0)
    # This may fail in a container, which mounts other things over parts of /proc.
    _LIBC.mount(b"proc", b"/proc", b"proc", ctypes.c_ulong(_NO_SUID_DEVICES_EXECUTION | _READ_ONLY), None)
    _give_up_rights()
    started = os.fork()
    if started == 0:
        _start(descriptor, command)
    _let_go(descriptor)
    while True:
        process, ended = os.wait()
        if process == started:
            os.write(status, os.waitstatus_to_exitcode(ended).to_bytes(4, "little", signed=True))
            os._exit(0)


def _start(descriptor: int, command: list[str]) -> None:
    try:
        os.set_inheritable(descriptor, False)  # noqa: FBT003 - it closes as the command begins
        os.execvp(command[0], command)  # noqa: S606 - the command is the user's own, and there is no shell
    except OSError as error:
        os.write(descriptor, NOT_STARTED + (error.strerror or str(error)).encode())
        os._exit(_FAILED)


def _let_go(*descriptors: int) -> None:
    """Close descriptors and standard streams, so that only the command has them open and its end can be read."""
    for descriptor in descriptors:
        os.close(descriptor)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)


_LIBC: Any = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None

if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
