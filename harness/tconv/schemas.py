"""The JSON Schemas of the files that tconv reads and writes, made from the models that read or write them.

`python -m tconv.schemas` writes them. The first line of a file names its schema, for editors. They forbid unknown keys.
Some rules, such as the grammar of patterns, cannot be expressed in a schema; only tconv checks them.
"""

from __future__ import annotations

import inspect
import json
import re
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from tconv.cases.context import PREFIX
from tconv.corpus.case_file import DEFAULTS, MAPPINGS, CaseFile
from tconv.gate.status import Ruling
from tconv.gate.waivers import WaiverFile
from tconv.records.headers import FORMAT, HeaderLine
from tconv.records.record import Record
from tconv.reports.plain import Results
from tconv.verdict.kinds import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic_core import core_schema

Schema: TypeAlias = dict[str, Any]

_PACKAGE = Path(__file__).parent
_META = "https://json-schema.org/draft/2020-12/schema"

# JSON has no such numbers.
_NON_FINITE: Final = {"enum": ["NaN", "Infinity", "-Infinity"]}
_SCALAR: Final = {"type": ["string", "integer", "boolean", "null"]}
_ENTRY = re.compile(r"^ {4}(?P<names>[\w-]+(?:, [\w-]+)*): (?P<text>.*(?:\n {8}.*)*)", re.MULTILINE)


def case_file() -> Schema:
    """Return the schema of a case file."""
    schema = CaseFile.model_json_schema(schema_generator=_Generator)
    parts = schema["$defs"]
    labels = parts["Sweep"]["properties"]["axes"]["additionalProperties"]["anyOf"][1]
    parts["Labels"] = labels | {"title": "Labels", "description": "Labels, each standing for several settings."}
    either = {
        name: {"anyOf": [_list_of(f"#/$defs/Settings/properties/{name}"), {"$ref": "#/$defs/Labels"}]}
        for name in parts["Settings"]["properties"]
        if name not in MAPPINGS
    } | {
        f"{PREFIX}{name}": {
            "anyOf": [_list_of(f"#/$defs/ContextSettings/properties/{name}"), {"$ref": "#/$defs/Labels"}]
        }
        for name in parts["ContextSettings"]["properties"]
    }
    parts["Sweep"]["properties"]["axes"] |= {"properties": either, "additionalProperties": {"$ref": "#/$defs/Labels"}}
    value = {"anyOf": [_SCALAR, {"type": "array", "items": _SCALAR}]}
    parts["Skip"]["properties"]["when"]["additionalProperties"] = {
        "anyOf": [_SCALAR, {"type": "array", "minItems": 1, "items": value}]
    }
    for name, default in DEFAULTS.items():
        parts["Settings"]["properties"][name]["default"] = default
    return _headed(schema, "case-file")


def waiver_file() -> Schema:
    """Return the schema of a waiver file. A waiver's verdict has its kind, and any of the other keys."""
    schema = WaiverFile.model_json_schema(schema_generator=_Generator)
    kinds = TypeAdapter(Ruling).json_schema(schema_generator=_Generator)["$defs"]
    of_waivers = {"required": ["kind"], "additionalProperties": False}
    # An unsupported case is declared, not waived.
    verdict = {"oneOf": [kind | of_waivers for name, kind in kinds.items() if name != Unsupported.__name__]}
    properties = schema["$defs"]["Waiver"]["properties"]
    properties["verdict"] = {"description": properties["verdict"]["description"]} | verdict
    return _headed(schema, "waiver-file")


def record_line() -> Schema:
    """Return the schema of a line of a record file: the header, or the record of a case."""
    schema = TypeAdapter(HeaderLine | Record).json_schema(schema_generator=_Generator)
    for kind, name in product(("Differed", "Imprecise"), ("expected", "actual", "worst")):
        number = schema["$defs"][kind]["properties"][name]
        number["anyOf"] = [*number.get("anyOf", [{"type": number.pop("type", None)}]), _NON_FINITE]
    about = "The first line of a record file is its header, every other line the record of one case."
    return _headed(schema | {"title": "RecordLine", "description": about}, "record-line", FORMAT)


def report() -> Schema:
    """Return the schema of the output of `--json` for runs."""
    schema = TypeAdapter(Results).json_schema(schema_generator=_Generator, mode="serialization")
    return _headed(schema, "report")


SCHEMAS: Final[dict[Path, Callable[[], Schema]]] = {
    _PACKAGE / "corpus" / "case-file.schema.json": case_file,
    _PACKAGE / "gate" / "waiver-file.schema.json": waiver_file,
    _PACKAGE / "records" / "record-line.schema.json": record_line,
    _PACKAGE / "reports" / "report.schema.json": report,
}
"""The file of each schema, and the function that makes it."""


def text(schema: Schema) -> str:
    """Return the text of a schema's file."""
    return json.dumps(schema, indent=2) + "\n"


def main() -> None:
    """Write every schema to its file."""
    for path, make in SCHEMAS.items():
        path.write_text(text(make()), encoding="utf-8")


def _list_of(reference: str) -> Schema:
    return {"type": "array", "minItems": 1, "items": {"$ref": reference}}


def _headed(schema: Schema, name: str, version: int = 1) -> Schema:
    return {"$schema": _META, "$id": f"urn:tconv-conformance:{name}:{version}"} | schema


def _describe(part: Schema, cls: type) -> Schema:
    """Describe an object by the first part of its class's docstring, and its keys by the entries under Attributes."""
    docs = [inspect.cleandoc(base.__doc__ or "").partition("\n\nAttributes:\n") for base in reversed(cls.__mro__)]
    part["description"] = " ".join(docs[-1][0].split())
    properties = part.get("properties", {})
    for entry in (entry for _, _, entries in docs for entry in _ENTRY.finditer(entries)):
        for name in entry["names"].split(", "):
            if name in properties:
                properties[name]["description"] = " ".join(entry["text"].split())
    if "kind" in properties:
        properties["kind"]["description"] = "The kind of the verdict."
    return part


class _Generator(GenerateJsonSchema):
    """Pydantic's generator, without titles made from keys, and with only the useful defaults."""

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002 - pydantic's interface
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> Schema:
        inner, default = self.generate_inner(schema["schema"]), schema.get("default")
        # None means that the key is not given, and a constant needs no default.
        if default is None or "const" in inner:
            return inner
        value = default.model_dump(exclude_unset=True) if isinstance(default, BaseModel) else default
        return inner | {"default": self.encode_default(value)}

    def dict_schema(self, schema: core_schema.DictSchema) -> Schema:
        mapping = super().dict_schema(schema)
        return mapping | ({"additionalProperties": False} if "patternProperties" in mapping else {})

    def model_schema(self, schema: core_schema.ModelSchema) -> Schema:
        return _describe(super().model_schema(schema), schema["cls"])

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> Schema:
        part: Schema = {"additionalProperties": False} | _describe(super().dataclass_schema(schema), schema["cls"])
        # The kind distinguishes verdicts, so it is required.
        if "kind" in part["properties"] and "kind" not in part.get("required", []):
            part["required"] = ["kind", *part.get("required", [])]
        return part


if __name__ == "__main__":
    main()
