"""The header of a record file, in JSON: what a run was, who was judged in it, and how two headers differ."""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from tconv.backends.options import assignments
from tconv.dialects import RecordedDialect  # noqa: TC001 - the file boundary reads the annotations
from tconv.records.machine_facts import without_confinement
from tconv.records.texts import Name, Text  # noqa: TC001 - as above
from tconv.shown_texts import shortened
from tconv.vocabulary import Tier  # noqa: TC001 - as above

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FORMAT = 5
"""The version of the format, which each change of what records say raises; a reader refuses others."""
_LONGEST_TITLE = 400
USUAL_TIMEOUT = 60.0
"""Seconds that a case may take where nothing else is asked for."""


def versions() -> dict[str, str]:
    """Return the versions of what judges in this process, on which verdicts depend: Python, numpy and onnx."""
    return {"python": platform.python_version(), "numpy": np.__version__, "onnx": version("onnx")}


class BackendHeader(BaseModel):
    """The backend that was judged.

    Attributes:
        name: its name.
        spec: how it was named on the command line; empty where that is its name.
        version: its version.
        environment: what it says of itself, with the environment variables that change its kernels.
        machine: the facts of the machine that it was on, see `backends.machine`.
        supplied: the questions of `rules` that it answers itself.
        options: those of its options that are not at their defaults: with others it is another backend in every report.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name
    spec: Text = ""
    version: Name
    environment: dict[Text, Text] = {}
    machine: dict[Text, Text] = {}
    supplied: tuple[str, ...] = ()
    options: dict[Text, Text] = {}

    @property
    def chosen(self) -> tuple[str, ...]:
        """The options that are not at their defaults, as `name=value`."""
        return assignments(self.options)

    @property
    def title(self) -> str:
        """How reports name it: name, version and chosen options; of very many not all."""
        return shortened(" ".join((self.name, self.version, *self.chosen)), _LONGEST_TITLE)

    @property
    def arguments(self) -> tuple[str, ...]:
        """What names it on the command line."""
        return ("--backend", self.spec or self.name, *(word for text in self.chosen for word in ("--option", text)))


def cases_option(path: str) -> tuple[str, ...]:
    """Return the end of a command that is about the cases of this path: nothing where they are tconv's own."""
    return ("--cases", path) if path else ()


def timeout_option(seconds: float) -> tuple[str, ...]:
    """Return what gives a command a timeout: nothing for the usual one."""
    return () if seconds == USUAL_TIMEOUT else ("--timeout", f"{seconds:g}")


class WaiversHeader(BaseModel):
    """By what a run was to be judged when it began; who reads the records may judge them by something else.

    Attributes:
        file: the name of the file of waivers, or none.
        digest: a digest of what it says; empty for none.
        strict: whether accepting an invalid model was a failure.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: Text
    digest: Text = ""
    strict: bool = False

    def __str__(self) -> str:
        return " ".join(filter(None, (self.file, self.digest, "--strict" if self.strict else "")))


class RunHeader(BaseModel):
    """The settings of a run, as it began. `--resume` continues a record file if `continues` says that it may.

    Attributes:
        tconv: the version of tconv.
        backend: who was judged.
        dialect: in whose words the cases were asked.
        tier: how much of the corpus was run.
        patterns: the patterns of the command line; none for the whole tier.
        corpus: a digest of all case files.
        path: the value of --cases as it was typed; empty for tconv's own corpus.
        cases: how many cases there are, of the shard where there is one.
        shard: the part of the run that is here, as 2/4; empty for the whole.
        timeout: seconds that a case may take.
        repeat: how often each case was asked.
        platform: versions of what computed: Python, numpy, onnx.
        waivers: by which it was to be judged; None if the records do not say it.
        started: when it started, as ISO 8601 writes it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    tconv: str
    backend: BackendHeader
    dialect: RecordedDialect
    tier: Tier
    patterns: tuple[Text, ...] = ()
    corpus: str
    path: Text = ""
    cases: int
    shard: Annotated[str, Field(pattern=r"^(\d+(,\d+)*/\d+)?$")] = ""
    timeout: float
    repeat: int = 1
    platform: dict[str, str] = {}
    waivers: WaiversHeader | None = None
    started: str

    @property
    def arguments(self) -> tuple[str, ...]:
        """What makes a command ask the backend as the run did: name, options, and a timeout of the run's own."""
        return (*self.backend.arguments, *timeout_option(self.timeout))

    @property
    def asked(self) -> tuple[str, ...]:
        """What makes `tconv run` ask the backend as the run did: `arguments`, and how often."""
        return self.arguments if self.repeat == 1 else (*self.arguments, "--repeat", str(self.repeat))

    def continues(self, other: RunHeader) -> bool:
        """Return whether `other` may resume this run: the fields of `comparable` are equal."""
        return self.comparable == other.comparable

    @property
    def comparable(self) -> RunHeader:
        """The header without the fields that may differ between a run and the run that resumes it."""
        environment = without_confinement(self.backend.environment)
        backend = self.backend.model_copy(update={"environment": environment})
        own = {"started": "", "path": "", "waivers": None, "backend": backend}
        return self.model_copy(update=own)


class HeaderLine(BaseModel):
    """The first line of a record file.

    Attributes:
        format: the version of the format.
        run: the settings of the run.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[5]
    run: RunHeader


def header_line(header: RunHeader) -> str:
    """Return the first line of a record file, without its newline."""
    return json.dumps({"format": FORMAT, "run": header.model_dump(mode="json")}, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that the headers of two runs say differently.

    Attributes:
        name: the field of the header.
        old, new: what each says; empty if it says nothing.
    """

    name: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.name} {self.old or 'none'} -> {self.new or 'none'}"


def differences(old: RunHeader, new: RunHeader) -> Iterator[Difference]:
    """Yield what two headers say differently, in the order of the header's fields."""
    before, after = (_texts(header) for header in (old, new))
    for name in before | after:
        if before.get(name) != after.get(name):
            yield Difference(name, before.get(name, ""), after.get(name, ""))


def _texts(header: RunHeader) -> dict[str, str]:
    """Return the values of a header as texts, by their names."""
    named = flat(header.model_dump(mode="json"))
    return {name: " ".join(map(str, value)) if isinstance(value, list) else str(value) for name, value in named}


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield nested values, each with the names that lead to it, joined by dots."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value
