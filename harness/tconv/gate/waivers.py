"""Waivers: known deviations of a backend, each with its exact verdict, its clause and a minimal example."""

from __future__ import annotations

import re
from datetime import date
from fnmatch import fnmatchcase
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from tconv import documents
from tconv.backends import is_named_by_start
from tconv.datafiles import data_folder
from tconv.diagnosis.misreadings import misreadings_by_name
from tconv.dialects import DialectName, MisreadingNames, find_dialect
from tconv.dialects.rules import QUESTIONS
from tconv.documents.models import Format, Mappings, Part, Texts, Values
from tconv.errors import joined
from tconv.gate.answers import list_readings
from tconv.gate.scope import NarrowScope, Scalar, Scope, list_texts
from tconv.gate.status import RULINGS
from tconv.nearest_word import nearest
from tconv.records.headers import WaiversHeader
from tconv.verdict.kinds import Crashed, Disputed, RefusedValid, TimedOut

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.dialects import Dialect
    from tconv.gate.status import RecordStatus
    from tconv.records.headers import BackendHeader

NonEmpty = Annotated[str, Field(min_length=1)]
Options = dict[str, Scalar | Values[Scalar]]
"""Values that options of the backend may have, by name."""
_AT_DEFAULT, _ANY = "default", "*"
OPEN = "TODO"
"""The beginning of a clause or a reason that nobody has written yet, as in a proposed file."""
_WAIVED_NOWHERE = {
    "unsupported": "must be declared under 'unsupported:', by cases or where, and because",
    "agreed": "must be of a verdict that fails: a case that agrees needs no waiver",
    "not-applicable": "must be of a verdict that fails: a case that the dialect cannot express needs no waiver",
    "inconclusive": "must be of a verdict that fails: cases on integers show whether such values are computed",
    "disputed": "must be of a verdict that fails: a disputed reading needs no waiver; if a refusal has another reason"
    " than the reading, waive it by the kind refused-valid with its message",
    "reading-changed": "must be of a verdict that fails for another reason: a new pin accepts another reading; write it"
    " with: tconv waivers pin RECORDS --waivers FILE",
}
"""Kinds of verdicts that no waiver waives, each with the remedy."""
_NOT_EMPTY = Field(json_schema_extra={"minLength": 1})
_DATE = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"


def _is_specifier(text: str) -> str:
    try:
        SpecifierSet(text)
    except InvalidSpecifier:
        raise ValueError(f"must be a version specifier such as '>=1.28' (got {text!r})") from None
    return text


def _is_verdict(verdict: dict[str, Any]) -> dict[str, Any]:
    kind = verdict.get("kind")
    if not isinstance(kind, str) or kind not in RULINGS:
        raise ValueError(f"must have a kind, one of {', '.join(RULINGS)} (got {kind!r}){nearest(str(kind), RULINGS)}")
    if remedy := _WAIVED_NOWHERE.get(kind):
        raise ValueError(f"{remedy} (got a waiver of the kind {kind!r}, which waives nothing)")
    fields = set(RULINGS[kind].__dataclass_fields__)
    for key, value in verdict.items():
        if isinstance(value, str) and "*" in value and not value.strip("* "):
            raise ValueError(f"must restrict {key} (got {value!r}, which matches any text)")
        if key not in fields:
            raise ValueError(f"must have only keys of the verdict {kind!r} (got {key!r}){nearest(key, fields)}")
    return verdict


def _is_written(text: str) -> str:
    if text.startswith(OPEN):
        raise ValueError(f"must be written by a person who knows (got {text!r}, which a proposal leaves open)")
    return text


def _is_date(value: object) -> str:
    try:
        return date.fromisoformat(str(value)).isoformat()
    except ValueError:
        raise ValueError(f"must be a date such as '2026-11-20' (got {value!r})") from None


class Declaration(NarrowScope):
    """Cases that the backend says it does not implement.

    Attributes:
        because: the backend's answer to them, in a sentence.
    """

    because: Annotated[NonEmpty, AfterValidator(_is_written)]


class Versioned(Scope):
    """An entry for some versions of a backend.

    Attributes:
        dialects: the dialects of the entry.
        versions: the versions, as PEP 440 writes them, such as >=1.28; if they are not given, all.
    """

    dialects: Annotated[Texts[DialectName], Field(min_length=1)]
    versions: Annotated[str, AfterValidator(_is_specifier)] = ""

    def of_version(self, dialect_name: str, version: str) -> bool:
        """Return whether it is for this dialect and this version of the backend, on any machine."""
        return dialect_name in self.dialects and is_among(version, self.versions)

    def active(self, dialect_name: str, backend: BackendHeader) -> bool:
        """Return whether it is for this dialect, and for the version and the machine of this backend."""
        return self.of_version(dialect_name, backend.version) and self.on_machine(backend.machine)


class Waiver(Versioned, NarrowScope):
    """A known deviation.

    Attributes:
        name: its name in reports, unique in its file.
        dialects: the dialects in which the backend deviates.
        verdict: the kind of verdict, or mixed-readings, and those of its fields that must be equal. In a text, *
            stands for anything.
        diagnosis: misreadings, one of which must give the wrong output; ' + ' joins those that give it together.
        versions: the versions that deviate, as PEP 440 writes them, such as >=1.28. For others it is inactive.
        clause: the words of the text that the backend deviates from.
        because: what the backend does, in a sentence.
        example: the id of a case that it covers, as small as possible.
        after-others: whether the deviation depends on earlier calls or on chance, or harms later calls. Memory that is
            never written does so, and a write to memory of others. Only such a waiver covers a process end that the
            case alone does not repeat; it must cover this case, or an earlier one that did not agree. It is not stale
            if its example passes, so it must name a last version.
        link: the thread about it, if there is one.
        date: the date on which it was written, such as 2026-11-20.
    """

    name: NonEmpty
    dialects: Annotated[Texts[DialectName], Field(min_length=1)]
    verdict: Annotated[dict[str, Any], AfterValidator(_is_verdict)]
    diagnosis: Annotated[Texts[Annotated[MisreadingNames, _NOT_EMPTY]], Field(min_length=1)] | None = None
    versions: Annotated[str, AfterValidator(_is_specifier)]
    clause: Annotated[NonEmpty, AfterValidator(_is_written)]
    because: Annotated[NonEmpty, AfterValidator(_is_written)]
    example: NonEmpty
    after_others: bool = Field(default=False, alias="after-others")
    link: str | None = None
    date: Annotated[str, BeforeValidator(_is_date), Field(json_schema_extra={"pattern": _DATE})]

    @model_validator(mode="after")
    def _names_misreadings(self) -> Self:
        dialects = [find_dialect(name) for name in self.dialects]
        names = {name for dialect in dialects for name in misreadings_by_name(dialect)}
        for misreadings in self.diagnosis or ():
            if not names.issuperset(misreadings.names):
                text = str(misreadings)
                raise ValueError(f"diagnosis must name misreadings (got {text!r}){nearest(text, names)}")
        return self

    @model_validator(mode="after")
    def _ends_if_it_is_after_others(self) -> Self:
        """Require a last version, as no run can show that such a waiver is stale."""
        last = {"==", "===", "~=", "<", "<="}
        if self.after_others and not any(part.operator in last for part in SpecifierSet(self.versions)):
            got = repr(self.versions)
            raise ValueError(f"versions must have a last one with after-others, as ==1.30.* has (got {got})")
        return self

    def waives(self, member: RecordStatus, facts: Mapping[str, str]) -> bool:
        """Return whether an answer is this deviation: the case is covered, and the ruling is equal in every key.

        - In a text `*` stands for anything.
        - A waiver with a refusal's message also waives a disputed refusal: the message shows that the runtime refuses
          for another reason than a reading.
        - If a process ended, but does not end by the case alone, a covering waiver with `after-others` is enough.
        """
        record, ruling = member.record, member.ruling
        if isinstance(ruling, Crashed | TimedOut) and record.varies:
            return self.after_others and self.covers(record.case, facts)
        if isinstance(ruling, Disputed):
            if ruling.message is None or "message" not in self.verdict:
                return False
            ruling = RefusedValid(ruling.message)
        if self.diagnosis is not None and set(self.diagnosis).isdisjoint(member.why.explained):
            return False
        return all(
            _matches(value, _to_json(getattr(ruling, key, None))) for key, value in self.verdict.items()
        ) and self.covers(record.case, facts)


class Pin(Versioned):
    """The reading that a backend is known to follow for a question; an answer by another reading fails.

    Attributes:
        dialects, versions: as in a waiver, but without versions it is for all.
        question: a question on which readings differ, or a constraint that the text leaves open.
        reading: the name of the reading, or primary for the dialect's first reading.
    """

    question: NonEmpty
    reading: NonEmpty

    @model_validator(mode="after")
    def _names_a_reading(self) -> Self:
        for dialect in map(find_dialect, self.dialects):
            known = {name for name in (*QUESTIONS, *dialect.constraints) if list_readings(name, dialect)}
            if self.question not in known:
                hint = nearest(self.question, known)
                raise ValueError(
                    f"question must be one that {dialect} answers in several ways (got {self.question!r}){hint}"
                )
            if self.reading not in (readings := list_readings(self.question, dialect)):
                must = f"reading must be one of {', '.join(readings)}"
                raise ValueError(f"{must} (got {self.reading!r}){nearest(self.reading, readings)}")
        return self

    def answer(self, dialect: Dialect) -> str:
        """Return the answer of its reading to its question."""
        return list_readings(self.question, dialect)[self.reading]

    def __str__(self) -> str:
        return f"{self.question}: {' '.join(filter(None, (self.reading, self.words)))}"


class WaiverFile(Part):
    """One backend's known deviations.

    Attributes:
        format: the version of the format.
        backend: the name of the backend.
        options: values that options of the backend may have; default means that the option is not given, and * any
            value. An option that is not named must be at its default. For other options the file does not apply.
        unsupported: cases that the backend says it does not implement; any other such answer fails.
        waivers: known deviations.
        pins: the allowed readings that it follows.
    """

    format: Format
    backend: NonEmpty
    options: Options = Field(default={})
    unsupported: Mappings[Declaration] = Field(default=[])
    waivers: Mappings[Waiver] = Field(default=[])
    pins: Mappings[Pin] = Field(default=[])

    @property
    def digest(self) -> str:
        """A digest of the file's content, without comments and the order of keys."""
        return f"sha256:{sha256(self.model_dump_json(exclude_defaults=True, warnings=False).encode()).hexdigest()[:16]}"

    def of_relative(self, backend: str) -> WaiverFile:
        """Return the waivers for use by another backend: for any version, as versions are those of this backend."""
        return self if backend == self.backend else self.for_every_version()

    def for_every_version(self) -> WaiverFile:
        """Return the file with waivers and pins that hold for every version."""
        any_version = {"versions": ""}
        waivers = [waiver.model_copy(update=any_version) for waiver in self.waivers]
        pins = [pin.model_copy(update=any_version) for pin in self.pins]
        return self.model_copy(update={"waivers": waivers, "pins": pins})

    def for_options(self, chosen: Mapping[str, str]) -> bool:
        """Return whether the file is for a run with these options, and all others at their defaults."""
        allowed = {name: list_texts(value) for name, value in self.options.items()}
        return all(
            not {_ANY, chosen.get(name, _AT_DEFAULT)}.isdisjoint(allowed.get(name, {_AT_DEFAULT}))
            for name in {*chosen, *allowed}
        )


def load(path: Path) -> WaiverFile:
    """Read a waiver file.

    Raises:
        FileError: it is missing or wrong.
    """
    file, document = documents.load(path, WaiverFile)
    names = [waiver.name for waiver in file.waivers]
    errors = [
        documents.place_error(document, ("waivers", i, "name"), f"a waiver's name must be unique (got {name!r} again)")
        for i, name in enumerate(names)
        if name in names[:i]
    ]
    if errors:
        raise joined(errors)
    return file


def choose_waivers(option: str | None, backend: str) -> WaiverFile | None:
    """Return the waivers that a user chose: a file's, none for `none`, or by default those that ship for the backend.

    For a file of another backend see `WaiverFile.of_relative`.

    Raises:
        FileError: the file is missing or wrong.
    """
    if option == "none":
        return None
    if option is not None:
        # The name of a backend that is not installed is known only after its start.
        return load(Path(option)) if is_named_by_start(backend) else load(Path(option)).of_relative(backend)
    # Looked up: a name from a record must not become a path.
    shipped = {path.stem: path for path in data_folder("waivers").glob("*.yaml")}
    return load(shipped[backend]) if backend in shipped else None


def make_header(file: WaiverFile | None, name: str | None, *, strict: bool) -> WaiversHeader:
    """Return the header's entry about the waivers of a run.

    Args:
        file: the waivers; None for none.
        name: the value of --waivers; None for those that ship.
        strict: whether accepting an invalid model is a failure.
    """
    if file is None:
        return WaiversHeader(file="none", strict=strict)
    return WaiversHeader(file=name or f"{file.backend}.yaml", digest=file.digest, strict=strict)


@cache
def is_among(version: str, versions: str) -> bool:
    """Return whether a backend's version is among those of a specifier."""
    if not versions:
        return True
    try:
        return SpecifierSet(versions).contains(Version(version), prereleases=True)
    except InvalidVersion:
        return versions == f"==={version}"


def _matches(expected: object, actual: object) -> bool:
    if not (isinstance(expected, str) and isinstance(actual, str) and "*" in expected):
        return actual == expected
    # Only * has a meaning. The pattern is one line, as reports and proposed waivers show messages in one line.
    pattern = re.sub(r"([?[])", r"[\1]", expected)
    return fnmatchcase(actual, pattern) or fnmatchcase(" ".join(actual.split()), pattern)


def _to_json(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
