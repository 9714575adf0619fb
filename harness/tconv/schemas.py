"""The JSON Schemas of the files that tconv reads and writes, made from the models that read them.

`python -m tconv.schemas` writes them anew. An editor takes one from a file's first line, a validator from the package.
They know no unknown key; what a schema cannot say (a pattern's grammar, an axis that a skip names) the reader says.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pydantic import TypeAdapter

from tconv.corpus.case_file import CaseFile
from tconv.dialects import DIALECTS
from tconv.dialects.constraints import CONSTRAINTS
from tconv.gate.waivers import WaiverFile
from tconv.records.record_file import HeaderLine, Record
from tconv.verdict.kinds import Verdict
from tconv.vocabulary import ATTRIBUTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Schema: TypeAlias = dict[str, Any]

_PACKAGE = Path(__file__).parent
_META = "https://json-schema.org/draft/2020-12/schema"

# What stands behind these keys is one of these words, in whatever file; the models check them by functions.
_WORDS: Final = {
    "dialect": tuple(DIALECTS),
    "dialects": tuple(DIALECTS),
    "breaks": tuple(CONSTRAINTS),
    "constraint": tuple(CONSTRAINTS),
    "omit": ATTRIBUTES,
}
_PATTERNS: Final = {"output_shape": "^full(?:[+-][0-9]{1,6})?$", "date": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}
# JSON has no number for them.
_NON_FINITE: Final = {"enum": ["NaN", "Infinity", "-Infinity"]}
_SCALAR: Final = {"type": ["string", "integer", "boolean", "null"]}
# An axis that gives an operand is a mapping of labels: an operand has no name that could stand in an id.
_NAMELESS: Final = ("x", "w", "b")
_ENTRY = re.compile(r"^    (?P<names>\w+(?:, \w+)*): (?P<text>.*(?:\n {8}.*)*)", re.MULTILINE)


def case_file() -> Schema:
    """Return the schema of a case file."""
    schema = _tidy(CaseFile.model_json_schema())
    parts = schema["$defs"]
    labels = parts["Sweep"]["properties"]["axes"]["additionalProperties"]["anyOf"][1]
    parts["Labels"] = labels | {"title": "Labels", "description": "Labels, each standing for several settings."}
    either = {
        name: {"anyOf": [_list_of(f"#/$defs/Settings/properties/{name}"), {"$ref": "#/$defs/Labels"}]}
        for name in parts["Settings"]["properties"]
        if name not in _NAMELESS
    }
    parts["Sweep"]["properties"]["axes"] |= {"properties": either, "additionalProperties": {"$ref": "#/$defs/Labels"}}
    one = {"anyOf": [_SCALAR, {"type": "array", "items": _SCALAR}]}
    parts["Skip"]["properties"]["when"]["additionalProperties"] = {
        "anyOf": [_SCALAR, {"type": "array", "minItems": 1, "items": one}]
    }
    return _headed(schema)


def waiver_file() -> Schema:
    """Return the schema of a waiver file. A waiver's verdict names its kind and whichever of its keys matter."""
    schema = _tidy(WaiverFile.model_json_schema())
    kinds = _tidy(TypeAdapter(Verdict).json_schema())["$defs"].values()
    verdict = {"oneOf": [kind | {"required": ["kind"]} for kind in kinds]}
    schema["$defs"]["Waiver"]["properties"]["verdict"] = verdict
    return _headed(schema)


def record_line() -> Schema:
    """Return the schema of a line of a record file: the header or a case's record."""
    schema = _tidy(TypeAdapter(HeaderLine | Record).json_schema())
    for part in schema["$defs"]["Differed"]["properties"].values():
        for number in _typed(part, "number"):
            del number["type"]
            number["anyOf"] = [{"type": "number"}, _NON_FINITE]
    about = "The first line of a record file is its header, every other line the record of one case."
    return _headed(schema | {"title": "RecordLine", "description": about})


SCHEMAS: Final[dict[Path, Callable[[], Schema]]] = {
    _PACKAGE / "corpus" / "case-file.schema.json": case_file,
    _PACKAGE / "gate" / "waiver-file.schema.json": waiver_file,
    _PACKAGE / "records" / "record-line.schema.json": record_line,
}
"""Where each schema ships, and what makes it."""


def text(schema: Schema) -> str:
    """Return a schema as its file has it."""
    return json.dumps(schema, indent=2) + "\n"


def main() -> None:
    """Write every schema to its file."""
    for path, make in SCHEMAS.items():
        path.write_text(text(make()), encoding="utf-8")


def _list_of(reference: str) -> Schema:
    return {"type": "array", "minItems": 1, "items": {"$ref": reference}}


def _headed(schema: Schema) -> Schema:
    return {"$schema": _META} | schema


def _tidy(schema: Schema) -> Schema:
    """Return pydantic's schema with closed objects, known words and descriptions, without names made from keys."""
    for part in _parts(schema):
        part.pop("default", None)
        _close(part)
        _describe(part)
        for name, value in part.get("properties", {}).items():
            value.pop("title", None)
            for string in _typed(value, "string"):
                _name_words(string, name)
    return schema


def _parts(schema: Schema) -> Iterator[Schema]:
    """Yield a schema and every schema in it."""
    yield schema
    inner: list[Any] = [schema.get(key) for key in ("additionalProperties", "items")]
    for key in ("$defs", "properties", "patternProperties"):
        inner += schema.get(key, {}).values()
    for key in ("anyOf", "oneOf", "prefixItems"):
        inner += schema.get(key, [])
    for part in inner:
        if isinstance(part, dict):
            yield from _parts(part)


def _close(part: Schema) -> None:
    """Refuse the keys that an object does not name; a verdict's kind, which tells it from others, must be there."""
    if "properties" in part or "patternProperties" in part:
        part["additionalProperties"] = False
    if "const" in part.get("properties", {}).get("kind", {}):
        part["required"] = ["kind", *part.get("required", [])]


def _describe(part: Schema) -> None:
    """Give each key of an object its entry in the class's docstring, and the object the words before them."""
    about, _, entries = part.get("description", "").partition("\n\nAttributes:\n")
    if about:
        part["description"] = " ".join(about.split())
    for entry in _ENTRY.finditer(entries):
        for name in entry["names"].split(", "):
            if name in part["properties"]:
                part["properties"][name]["description"] = " ".join(entry["text"].split())


def _typed(part: Schema, kind: str) -> Iterable[Schema]:
    """Return the schemas of a JSON type among a value's alternatives and their items."""
    return [one for one in _parts(part) if one.get("type") == kind]


def _name_words(string: Schema, key: str) -> None:
    if key in _WORDS:
        string["enum"] = list(_WORDS[key])
    if key in _PATTERNS:
        string["pattern"] = _PATTERNS[key]


if __name__ == "__main__":
    main()
