"""The header of a record file, in JSON: the settings of a run, the backend, and the differences of two headers."""

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
from tconv.records.texts import Name, Text  # noqa: TC001 - as above
from tconv.shown_texts import shortened
from tconv.vocabulary import Tier  # noqa: TC001 - as above

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FORMAT = 5
"""The version of the format. Each change of the records' meaning raises it; a reader refuses other versions."""
_LONGEST_TITLE = 400
CONFINEMENT = "isolated"
"""The entry of a header's environment about confinement. It may differ between the machines of a run: a system may
forbid confinement, and no answer depends on it."""
USUAL_TIMEOUT = 60.0
"""The default limit of a call, in seconds."""


def versions() -> dict[str, str]:
    """Return the versions that verdicts depend on: Python, numpy and onnx."""
    return {"python": platform.python_version(), "numpy": np.__version__, "onnx": version("onnx")}


class BackendHeader(BaseModel):
    """The backend that was judged.

    Attributes:
        name: its name.
        spec: its name on the command line; empty if that is the same.
        version: its version.
        environment: facts that it reports, and the environment variables that change its kernels.
        machine: the facts of its machine, see `backends.machine`.
        supplied: the questions of `rules` that tconv answers for it.
        options: the options that are not at their defaults; with other options, reports treat it as another backend.
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
        """The title in reports: name, version and chosen options, shortened."""
        return shortened(" ".join((self.name, self.version, *self.chosen)), _LONGEST_TITLE)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments that name it on the command line."""
        return ("--backend", self.spec or self.name, *(word for text in self.chosen for word in ("--option", text)))


def cases_option(path: str) -> tuple[str, ...]:
    """Return the option of a command for the cases of a path; nothing for tconv's own."""
    return ("--cases", path) if path else ()


def timeout_option(seconds: float) -> tuple[str, ...]:
    """Return the option of a command for a timeout; nothing for the default."""
    return () if seconds == USUAL_TIMEOUT else ("--timeout", f"{seconds:g}")


class WaiversHeader(BaseModel):
    """The waivers at the start of a run; a reader of the records may judge them with others.

    Attributes:
        file: the name of the file of waivers, or none.
        digest: a digest of its content; empty for none.
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
        backend: the backend that was judged.
        dialect: the dialect of the calls.
        tier: the tier of the corpus.
        patterns: the patterns of the command line; none for the whole tier.
        corpus: a digest of all case files.
        path: the value of --cases as it was typed; empty for tconv's own corpus.
        cases: the number of cases, of the shard if there is one.
        shard: the part of the run in this file, as 2/4; empty for the whole.
        timeout: the limit of a call, in seconds.
        repeat: how often each case was asked.
        platform: the versions of Python, numpy and onnx.
        waivers: the waivers at the start; None if they are not recorded.
        started: when it started, in ISO 8601.
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
        """The arguments of a command that asks the backend as the run did: name, options and timeout."""
        return (*self.backend.arguments, *timeout_option(self.timeout))

    @property
    def asked(self) -> tuple[str, ...]:
        """The arguments of `tconv run` that ask the backend as the run did: `arguments`, and how often."""
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


def without_confinement(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a header without the entry about confinement."""
    return {name: text for name, text in environment.items() if name != CONFINEMENT}


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
    """A difference between the headers of two runs.

    Attributes:
        name: the field of the header.
        old, new: the two values; empty if there is none.
    """

    name: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.name} {self.old or 'none'} -> {self.new or 'none'}"


def differences(old: RunHeader, new: RunHeader) -> Iterator[Difference]:
    """Yield the differences of two headers, in the order of the header's fields."""
    before, after = (_texts(header) for header in (old, new))
    for name in before | after:
        if before.get(name) != after.get(name):
            yield Difference(name, before.get(name, ""), after.get(name, ""))


def _texts(header: RunHeader) -> dict[str, str]:
    """Return the values of a header as texts, by their names."""
    named = flat(header.model_dump(mode="json"))
    return {name: " ".join(map(str, value)) if isinstance(value, list) else str(value) for name, value in named}


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield nested values, each with the names on its way, joined by dots."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value
