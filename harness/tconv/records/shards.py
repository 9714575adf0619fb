"""Shards: parts of one run, each with its own record file, and the run that they make together."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Self

import numpy as np

from tconv.errors import FileError, UsageError
from tconv.records.artifacts import FOLDER
from tconv.records.headers import CONFINEMENT, WaiversHeader, without_confinement
from tconv.records.record_file import Run
from tconv.records.texts import file_name_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tconv.records.headers import BackendHeader, RunHeader
    from tconv.records.record import Record
    from tconv.vocabulary import Mask

_FORM = re.compile(r"(\d{1,6}(?:,\d{1,6})*)/(\d{1,6})")
_IN_NAME = re.compile(r"-shard-[\da-f-]+(?=-of-\d+)")
_LONGEST = 40
"""Characters of the numbers in a file's name."""
_SEVERAL = "(the shards differ)"
_MAY_DIFFER = ("processor", "cores", "memory")
"""Facts that may differ between the machines of a run, as no waiver depends on them."""
_AND = " | "


@dataclass(frozen=True, slots=True)
class Shards:
    """Some shards of a run, written as `2/4` or `1,3/4`.

    Attributes:
        numbers: the numbers of the shards, from 1.
        count: the number of all shards of the run.
    """

    numbers: tuple[int, ...]
    count: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the shards that a text names.

        Raises:
            UsageError: it names none.
        """
        form = _FORM.fullmatch(text)
        numbers = tuple(sorted(set(map(int, form[1].split(","))))) if form else ()
        if form is None or not all(1 <= number <= int(form[2]) for number in numbers):
            raise UsageError(f"a shard must be i/n, with i from 1 to n (got {text!r})")
        return cls(numbers, int(form[2]))

    def __str__(self) -> str:
        return f"{','.join(map(str, self.numbers))}/{self.count}"

    @property
    def name(self) -> str:
        """A part of a record file's name."""
        return f"shard-{file_name_part('-'.join(map(str, self.numbers)), _LONGEST)}-of-{self.count}"

    @property
    def missing(self) -> list[int]:
        """The numbers of the other shards."""
        return [number for number in range(1, self.count + 1) if number not in self.numbers]

    def deal(self) -> Callable[[int], Mask]:
        """Return a function that takes a number of items, and says which of the next so many are in these shards.

        Items go to the shards in turn, so each is in exactly one shard.
        """
        dealt = 0

        def of_next(count: int) -> Mask:
            nonlocal dealt
            positions = np.arange(dealt, dealt + count)
            dealt += count
            return np.isin(positions % self.count + 1, self.numbers)

        return of_next


def merged(runs: Sequence[Run]) -> list[Run]:
    """Return runs; the shards of one run are joined to one.

    Two shards are of one run if their headers are equal, except shard, number of cases, start, path, waivers,
    confinement and machine. If shards are missing, the joined header names those that are there.

    Raises:
        FileError: a shard or a case is there twice.
    """
    groups: dict[str, list[Run]] = {}
    for position, run in enumerate(runs):
        key = _identity(run.header) if run.header.shard else str(position)
        groups.setdefault(key, []).append(run)
    return [_joined(group) if group[0].header.shard else group[0] for group in groups.values()]


def _identity(header: RunHeader) -> str:
    environment = without_confinement(header.backend.environment)
    backend = header.backend.model_copy(update={"machine": {}, "environment": environment})
    shard = f"/{Shards.parse(header.shard).count}"
    own = {"cases": 0, "started": "", "path": "", "waivers": None}
    return header.model_copy(update=own | {"backend": backend, "shard": shard}).model_dump_json()


def _joined(group: Sequence[Run]) -> Run:
    by_number: dict[int, Run] = {}
    for run in group:
        for number in Shards.parse(run.header.shard).numbers:
            if number in by_number:
                other = by_number[number].path
                raise FileError(run.path, f"must be another shard than {other} is (got shard {number} again)")
            by_number[number] = run
    folders = {run.path.parent for run in group}
    folder = folders.pop() if len(folders) == 1 else Path(os.path.commonpath([path.absolute() for path in folders]))
    records = [record for run in group for record in _in_folder(run, folder, run.records)]
    if len({record.case for record in records}) != len(records):
        raise FileError(group[0].path, "must have no case of another shard (got one); run the shards again")
    path = group[0].path if len(group) == 1 else folder / _IN_NAME.sub("-shard-*", group[0].path.name)
    shards = Shards(tuple(sorted(by_number)), Shards.parse(group[0].header.shard).count)
    header = _joined_header([run.header for run in group], shards)
    # Two shards may have asked the same new call.
    asked = {record.case: record for run in group for record in _in_folder(run, folder, run.asked)}
    changed = {
        (record.case, record.changed): record for run in group for record in _in_folder(run, folder, run.changed)
    }
    records.sort(key=lambda record: record.case)
    return Run(path, header, records, [asked[case] for case in sorted(asked)], [*changed.values()])


def _joined_header(headers: Sequence[RunHeader], shards: Shards) -> RunHeader:
    return headers[0].model_copy(
        update={
            "backend": _joined_backend([header.backend for header in headers]),
            "cases": sum(header.cases for header in headers),
            "started": min(header.started for header in headers),
            "waivers": _joined_waivers({header.waivers for header in headers}),
            "shard": str(shards) if shards.missing else "",
        }
    )


def joined_facts(machines: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the facts of all machines: of those that may differ all values, of the others the common ones.

    Without a common value a fact is left out, so no waiver that depends on it holds.
    """
    values = {name: {machine.get(name, "") for machine in machines} for machine in machines for name in machine}
    return {
        name: _every(texts) if name in _MAY_DIFFER else "".join(texts)
        for name, texts in values.items()
        if name in _MAY_DIFFER or len(texts) == 1
    }


def _every(texts: Iterable[str]) -> str:
    """Return all values of a fact, each once; a text may already have those of several machines."""
    return _AND.join(sorted({value for text in texts for value in text.split(_AND) if value}))


def _joined_backend(backends: Sequence[BackendHeader]) -> BackendHeader:
    """Return the backend of a run on several machines, with the facts of all.

    Args:
        backends: the backend's header from each machine; they differ only in facts of the machine.
    """
    machine = joined_facts([backend.machine for backend in backends])
    environment = without_confinement(backends[0].environment)
    if any(CONFINEMENT in backend.environment for backend in backends):
        environment[CONFINEMENT] = _every(backend.environment.get(CONFINEMENT, "no") for backend in backends)
    return backends[0].model_copy(update={"machine": machine, "environment": environment})


def _joined_waivers(waivers: set[WaiversHeader | None]) -> WaiversHeader | None:
    """Return the waivers of all shards; if they differ, a header that is equal to no file's."""
    return waivers.pop() if len(waivers) == 1 else WaiversHeader(file="several", digest=_SEVERAL)


def _in_folder(run: Run, folder: Path, records: Sequence[Record]) -> Iterator[Record]:
    """Yield the records of a run, with the paths of their artifacts relative to a folder above."""
    if run.path.parent == folder:
        yield from records
        return
    own = run.path.parent.absolute().relative_to(folder.absolute())
    for record in records:
        # Only the file's name: a path in a record must not lead out of its folder.
        artifact = record.artifact and (own / FOLDER / PurePath(record.artifact).name).as_posix()
        yield replace(record, artifact=artifact)
