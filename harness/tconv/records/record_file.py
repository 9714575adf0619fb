"""The record file: a header line, and a line for each case or cell, in JSON. Every report is made from it alone."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from tconv.backends.options import written
from tconv.backends.outcome import Recorded
from tconv.diagnosis.placement import Placement
from tconv.dialects import dialect_named
from tconv.dialects.known_names import (  # noqa: TC001 - the file boundary reads the annotations
    MisreadingNames,
    RecordedDialect,
)
from tconv.dialects.readings import Together
from tconv.errors import FileError, printable, shortened
from tconv.records.cells import START, Cell, cell_of
from tconv.records.consistency import inconsistency
from tconv.records.texts import Name, Text, printable_line
from tconv.verdict.kinds import Verdict  # noqa: TC001 - the file boundary reads the annotation

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    from tconv.dialects import Dialect

T = TypeVar("T")
FORMAT = 1
"""The version of the format; a reader refuses others."""


class BackendHeader(BaseModel):
    """The backend that was judged.

    Attributes:
        name: its name.
        spec: how it was named on the command line; empty where that is its name.
        version: its version.
        accumulates: the type in which it adds products, by element type, for 16-bit types.
        environment: what it says of itself, with the environment variables that change its kernels.
        machine: the facts of the machine that it was on, see `backends.machine`.
        supplied: the questions of `rules` that it answers itself.
        options: those of its options that are not at their defaults: with others it is another backend in every report.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name
    spec: Text = ""
    version: Name
    accumulates: dict[str, str] = {}
    environment: dict[Text, Text] = {}
    machine: dict[Text, Text] = {}
    supplied: tuple[str, ...] = ()
    options: dict[Text, Text] = {}

    @property
    def chosen(self) -> tuple[str, ...]:
        """The options that are not at their defaults, as `name=value`."""
        return written(self.options)

    @property
    def title(self) -> str:
        """How reports name it: name, version and chosen options."""
        return " ".join((self.name, self.version, *self.chosen))

    @property
    def arguments(self) -> tuple[str, ...]:
        """What names it on the command line."""
        return ("--backend", self.spec or self.name, *(word for text in self.chosen for word in ("--option", text)))


class WaiversHeader(BaseModel):
    """The waivers by which a run was judged as it ended; who reads the records may hold them against others.

    Attributes:
        file: the name of the file, or none.
        digest: a digest of what it says; empty for none.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: Text
    digest: Text = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.file, self.digest)))


class RunHeader(BaseModel):
    """What a run was. `resume` continues a file whose header is equal in all but `started`, `path` and `waivers`.

    Attributes:
        tconv: the version of tconv.
        backend: who was judged.
        dialect: in whose words the cases were asked.
        tier: how much of the corpus was run.
        patterns: the patterns of the command line; none for the whole tier.
        seed: the seed of drawn cases; 0 for those of a corpus.
        corpus: a digest of all case files.
        path: the value of --cases as it was typed; empty for tconv's own corpus.
        cases: how many cases there are, of the shard where there is one.
        shard: the part of the run that is here, as 2/4; empty for the whole.
        timeout: seconds that a case may take.
        repeat: how often each case was asked.
        together: how many cases may be asked in one model.
        platform: versions of what computed: Python, numpy, the system.
        waivers: by which it was judged; None in records of older releases, which do not say it.
        started: when it started, as ISO 8601 writes it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    tconv: str
    backend: BackendHeader
    dialect: RecordedDialect
    tier: Literal["smoke", "gate", "full", "exhaustive"]
    patterns: tuple[Text, ...] = ()
    seed: int = 0
    corpus: str
    path: Text = ""
    cases: int
    shard: Annotated[str, Field(pattern=r"^(\d+(,\d+)*/\d+)?$")] = ""
    timeout: float
    repeat: int = 1
    together: int = 1
    platform: dict[str, str] = {}
    waivers: WaiversHeader | None = None
    started: str

    def continues(self, other: RunHeader) -> bool:
        """Return whether this run and `other` are the same but for their start, path and waivers."""
        ignored = {"started": "", "path": "", "waivers": None}
        return self.model_copy(update=ignored) == other.model_copy(update=ignored)


class HeaderLine(BaseModel):
    """The first line of a record file.

    Attributes:
        format: the version of the format.
        run: what the run was.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1]
    run: RunHeader


@dataclass(frozen=True, slots=True)
class CallSummary(Recorded):
    """The call, in the dialect's words.

    Attributes:
        attributes: the attributes that are written.
        inputs: each input as its name, its shape in the call's layout, and its element type.
        data_format: the layout of data and output.
        filter_format: the layout of the filter.
    """

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
        dialect: the dialect in which it was expressed.
        verdict: the verdict.
        seconds: how long the backend took, without the harness.
        artifact: the file with operands, expected and actual values, relative to the record file; None for a pass.
        call: the call, where it is not a plain pass.
        tolerance: how the allowed distance is derived, where values were compared and differ.
        diagnosis: misreadings that give the very output that was wrong, each by itself; pairs are joined by ` + `.
        described: where and how the output is wrong, where no misreading gives it.
        placement: where the values of a wrong output lie, as far as they tell.
        harmed: how a process died at this case, which does not die alone: an earlier case has harmed the process.
    """

    case: str
    backend: str
    dialect: RecordedDialect
    verdict: Annotated[Verdict, Field(discriminator="kind")]
    seconds: float = 0.0
    artifact: str | None = None
    call: CallSummary | None = None
    tolerance: str | None = None
    diagnosis: tuple[MisreadingNames, ...] = ()
    described: str | None = None
    placement: Placement | None = None
    harmed: str | None = None


_RECORD: TypeAdapter[Record] = TypeAdapter(Record)
_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
_NON_FINITE = {math.inf: "Infinity", -math.inf: "-Infinity"}
_LONGEST_TEXT = 20_000
"""Characters of a runtime's message: hundreds of them are on one page."""
_SHAPES = ("expected", "actual")
"""Keys that are written even where they are empty, which is the shape of a scalar."""


@dataclass(frozen=True)
class Line:
    """A record as its line in a record file, without the newline; it is parsed when the record is first used."""

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
    """One record file: its path, its header, its records in the order of their ids, and its cells."""

    path: Path
    header: RunHeader
    records: list[Record] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)

    @property
    def dialect(self) -> Dialect:
        """The dialect that the header names."""
        return dialect_named(self.header.dialect)

    @property
    def cases(self) -> int:
        """How many cases it has, those that are only counted included."""
        return len(self.records) + sum(cell.cases for cell in self.cells)


def header_line(header: RunHeader) -> str:
    """Return the first line of a record file, without its newline."""
    return json.dumps({"format": FORMAT, "run": header.model_dump(mode="json")}, separators=(",", ":"))


def record_line(record: Record) -> str:
    """Return a record's line, without its newline. Keys with None or an empty tuple are left out."""
    line = _plain(record)
    line["verdict"] = {"kind": record.verdict.kind} | _plain(record.verdict)
    line["seconds"] = round(record.seconds, 6)
    return _ENCODER.encode(line)


def record_of(line: str | bytes) -> Record:
    """Return the record of a line.

    Raises:
        ValidationError: the line is no record.
    """
    return _RECORD.validate_json(line)


def _plain(part: Record | Verdict | CallSummary | Placement) -> dict[str, Any]:
    """Return a part of a record as JSON values by key, without the keys that are left out."""
    plain = {}
    for name in part.__slots__:
        value = getattr(part, name)
        if value is not None and (value != () or name in _SHAPES):
            plain[name] = _value(value)
    return plain


def _value(value: Any) -> Any:  # noqa: ANN401 - JSON values
    if isinstance(value, str):
        return shortened(printable(value), _LONGEST_TEXT)
    if isinstance(value, float):
        return value if math.isfinite(value) else _NON_FINITE.get(value, "NaN")
    if isinstance(value, CallSummary | Placement):
        return _plain(value)
    if isinstance(value, tuple):
        return [str(item) if isinstance(item, Together) else item for item in value]
    return value


def read(path: Path, cases_of: Callable[[RunHeader], Collection[str] | None] = lambda _: None) -> Run:
    """Read a record file.

    A last line without its newline is left by an interrupted writer, and is not read.

    Args:
        path: the file.
        cases_of: returns the ids of all cases of a run by its header; None where they are not known.

    Raises:
        FileError: the file is not there, a line is not what the format says, or not of the run of the header.
    """
    lines = _lines(path)
    header = _header(path, next(lines, (1, b"")))
    cases = cases_of(header)
    if cases is not None and len(cases) != header.cases:
        # The digest of a corpus is of its case files alone: the rows of a tier are chosen again without a new question.
        must = f"cases must be {len(cases)}, as many as the header selects (got {header.cases})"
        raise FileError(path, f"{must}; run it again, where the tiers were chosen anew since", 1)
    records: list[Record] = []
    cells: list[Cell] = []
    seen: set[object] = set()
    for number, line in lines:
        key: object
        if line.startswith(START):
            cells.append(cell := _parsed(cell_of, "the count of a cell", path, number, line))
            key, once = (cell.cell, cell.kind, cell.rule), f"a cell must have one count of a kind (got {cell.cell!r}"
        else:
            records.append(record := _parsed(record_of, "a record", path, number, line))
            key, once = record.case, f"a case must have one record (got {record.case!r}"
            if wrong := inconsistency(record, header, cases):
                raise FileError(path, wrong, number)
        if key in seen:
            raise FileError(path, f"{once} again)", number)
        seen.add(key)
    return Run(path, header, sorted(records, key=lambda record: record.case), cells)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(path, f"must be a readable file of records (got: {reason})") from None
    whole = data[: data.rfind(b"\n") + 1]
    for number, line in enumerate(whole.splitlines(), start=1):
        yield number, printable_line(line)


def _header(path: Path, numbered: tuple[int, bytes]) -> RunHeader:
    try:
        return HeaderLine.model_validate_json(numbered[1]).run
    except ValidationError as error:
        raise FileError(path, f"must start with a header of format {FORMAT} (got: {_first(error)})", 1) from None


def _parsed(parse: Callable[[bytes], T], what: str, path: Path, number: int, line: bytes) -> T:
    try:
        return parse(line)
    except ValidationError as error:
        raise FileError(path, f"must be {what} (got: {_first(error)})", number) from None


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else str(first["msg"])
