"""Records: a header and a line a case, in JSON. Every report is derived from them, and from nothing else."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)

from tconv.backends.outcome import Recorded
from tconv.dialects import dialect_named
from tconv.dialects.names import RecordedDialect  # noqa: TC001 - the file boundary reads the annotation
from tconv.dialects.readings import Together
from tconv.errors import FileError
from tconv.verdict.kinds import Verdict  # noqa: TC001 - the file boundary reads the annotation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tconv.dialects import Dialect

FORMAT = 1
"""The version of the format; a reader refuses others."""


class BackendHeader(BaseModel):
    """Who was judged.

    `spec` is how it was named on the command line; `supplied` are the questions of `rules` that it answers itself.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    spec: str = ""
    version: str
    accumulates: dict[str, str] = {}
    environment: dict[str, str] = {}
    supplied: tuple[str, ...] = ()


class RunHeader(BaseModel):
    """What a run was: two runs with equal headers, start and path aside, would say the same.

    `resume` continues a file whose header is equal in all fields but these. `path` is what --cases named, as it was
    typed; empty for tconv's own corpus.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    tconv: str
    backend: BackendHeader
    dialect: RecordedDialect
    tier: Literal["smoke", "gate", "full"]
    patterns: tuple[str, ...] = ()
    seed: int = 0
    corpus: str
    path: str = ""
    cases: int
    timeout: float
    repeat: int = 1
    platform: dict[str, str] = {}
    started: str

    def continues(self, other: RunHeader) -> bool:
        """Return whether this run asks the same as `other` did."""
        aside = {"started": "", "path": ""}
        return self.model_copy(update=aside) == other.model_copy(update=aside)


class HeaderLine(BaseModel):
    """The first line of a record file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1]
    run: RunHeader


def _together(value: object) -> object:
    return Together.parse(value) if isinstance(value, str) else value


Names = Annotated[Together, BeforeValidator(_together), PlainSerializer(str), WithJsonSchema({"type": "string"})]
"""Names that hold together; in JSON one text."""


@dataclass(frozen=True, slots=True)
class CallSummary(Recorded):
    """The call as it was said: the dialect's attributes, and each input as name, shape, type."""

    attributes: dict[str, str | int | list[int]]
    inputs: list[tuple[str, list[int], str]]
    data_format: str
    filter_format: str


@dataclass(frozen=True, slots=True)
class Record(Recorded):
    """One case's line.

    Attributes:
        case: the case's id.
        backend: the backend's name.
        dialect: the dialect it was said in.
        verdict: what came of it.
        seconds: what the backend took, harness excluded.
        artifact: the file with operands, expected and actual values, relative to the record file; None for a pass.
        call: the call, where it is not a plain pass.
        tolerance: how the allowed distance is derived, where values were compared and differ.
        diagnosis: misreadings that give the very output that was wrong, each by itself or a pair together.
        described: where and how the output is wrong, where no misreading gives it.
        harmed: what a process died of in this case, which does not die alone: an earlier case has harmed the process.
    """

    case: str
    backend: str
    dialect: RecordedDialect
    verdict: Annotated[Verdict, Field(discriminator="kind")]
    seconds: float = 0.0
    artifact: str | None = None
    call: CallSummary | None = None
    tolerance: str | None = None
    diagnosis: tuple[Names, ...] = ()
    described: str | None = None
    harmed: str | None = None


_RECORD: TypeAdapter[Record] = TypeAdapter(Record)
_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
_NON_FINITE = {math.inf: "Infinity", -math.inf: "-Infinity"}
_SHAPES = ("expected", "actual")
"""What says something though it is empty: the shape of a scalar."""


@dataclass(frozen=True)
class Line:
    """A case's record as its line in a record file, without the newline; it is parsed where the record is asked for."""

    case: str
    text: str

    @classmethod
    def of(cls, record: Record) -> Line:
        """Return a record's line."""
        return cls(record.case, record_line(record))

    @cached_property
    def record(self) -> Record:
        """The record."""
        return record_of(self.text)


@dataclass(slots=True)
class Run:
    """One record file: its path, its header and its records in the order of their ids."""

    path: Path
    header: RunHeader
    records: list[Record] = field(default_factory=list)

    @property
    def dialect(self) -> Dialect:
        """The dialect that the header names."""
        return dialect_named(self.header.dialect)


def header_line(header: RunHeader) -> str:
    """Return the first line of a record file, without its newline."""
    return json.dumps({"format": FORMAT, "run": header.model_dump(mode="json")}, separators=(",", ":"))


def record_line(record: Record) -> str:
    """Return a record's line, without its newline. Keys that say nothing are left out."""
    verdict = {"kind": record.verdict.kind} | _plain(record.verdict)
    line = _plain(record) | {"verdict": verdict, "seconds": round(record.seconds, 6)}
    return _ENCODER.encode(line)


def record_of(line: str | bytes) -> Record:
    """Return the record that a line is of.

    Raises:
        ValidationError: it is no record's line.
    """
    return _RECORD.validate_json(line)


def _plain(thing: Record | Verdict | CallSummary) -> dict[str, Any]:
    """Return a dataclass's fields that say something as plain JSON values."""
    named = ((name, getattr(thing, name)) for name in thing.__slots__)
    return {name: _value(value) for name, value in named if value is not None and (value != () or name in _SHAPES)}


def _value(value: Any) -> Any:  # noqa: ANN401 - JSON values
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else _NON_FINITE.get(value, value)
    if isinstance(value, str):
        # Half a character, as in text that a runtime did not decode, would make the line unreadable.
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, CallSummary):
        return _plain(value)
    if isinstance(value, tuple):
        return [str(item) if isinstance(item, Together) else item for item in value]
    return value


def read(path: Path) -> Run:
    """Read a record file.

    A last line without its newline is what an interrupted writer leaves: it is no record.

    Raises:
        FileError: the file is not there, or a line is not what the format says.
    """
    lines = _lines(path)
    header = _header(path, next(lines, (1, b"")))
    records: list[Record] = []
    seen: set[str] = set()
    for number, line in lines:
        record = _record(path, number, line)
        if record.case in seen:
            raise FileError(path, f"a case must have one record (got {record.case!r} again)", number)
        seen.add(record.case)
        records.append(record)
    return Run(path, header, sorted(records, key=lambda record: record.case))


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FileError(path, f"must be a readable file of records (got: {error.strerror})") from None
    whole = data[: data.rfind(b"\n") + 1]
    yield from enumerate(whole.splitlines(), start=1)


def _header(path: Path, numbered: tuple[int, bytes]) -> RunHeader:
    try:
        return HeaderLine.model_validate_json(numbered[1]).run
    except ValidationError as error:
        raise FileError(path, f"must start with a header of format {FORMAT} (got: {_first(error)})", 1) from None


def _record(path: Path, number: int, line: bytes) -> Record:
    try:
        return record_of(line)
    except ValidationError as error:
        raise FileError(path, f"must be a record (got: {_first(error)})", number) from None


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else str(first["msg"])
