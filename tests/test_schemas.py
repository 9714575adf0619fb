"""The published JSON Schemas: they are what the models generate, accept what ships, and know no unknown key."""

from __future__ import annotations

import functools
import json
import operator
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from made_records import DIALECT, EVERY_VERDICT, header
from tconv import documents, schemas
from tconv.datafiles import data_folder
from tconv.records.headers import header_line
from tconv.records.record import CallSummary, Record, record_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tconv.verdict import kinds as ver


def validator(make: Any) -> Draft202012Validator:  # noqa: ANN401 - one of the module's functions
    schema = make()
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def mappings(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from mappings(part, (*path, key))


@pytest.mark.parametrize("path", schemas.SCHEMAS, ids=lambda path: path.name)
def test_the_shipped_file_is_what_the_models_generate(path: Path) -> None:
    """A change of a model without `python -m tconv.schemas` is found here."""
    assert json.loads(path.read_text(encoding="utf-8")) == schemas.SCHEMAS[path]()


@pytest.mark.parametrize("make", schemas.SCHEMAS.values(), ids=lambda make: make.__name__)
def test_every_object_is_closed(make: Any) -> None:  # noqa: ANN401 - one of the module's functions
    schema = make()
    parts = (functools.reduce(operator.getitem, path, schema) for path in mappings(schema))
    objects = [part for part in parts if part.get("type") == "object"]
    assert objects
    for part in objects:
        others = part["additionalProperties"]
        assert others is False or (isinstance(others, dict) and others), part
        assert others is False or "properties" not in part or "$ref" in others


@pytest.mark.parametrize("make", schemas.SCHEMAS.values(), ids=lambda make: make.__name__)
def test_every_key_is_told_in_words(make: Any) -> None:  # noqa: ANN401 - one of the module's functions
    """An editor shows what a key is for, wherever it stands; the schema has a name of its own."""
    schema = make()
    parts = {"": schema, **schema["$defs"]}
    keys = [(part, key, value) for part, body in parts.items() for key, value in body.get("properties", {}).items()]
    assert len(keys) > 20
    assert [(part, key) for part, key, value in keys if not value.get("description")] == []
    assert schema["$id"].startswith("urn:tconv-conformance:")


@pytest.mark.parametrize(
    ("make", "folder"), [(schemas.case_file, "cases"), (schemas.waiver_file, "waivers")], ids=["cases", "waivers"]
)
def test_every_shipped_file_is_valid(make: Any, folder: str) -> None:  # noqa: ANN401 - one of the module's functions
    files = sorted(data_folder(folder).rglob("*.yaml"))
    assert files
    check = validator(make)
    for file in files:
        check.validate(documents.read(file).value)


@pytest.mark.parametrize("verdict", EVERY_VERDICT, ids=lambda verdict: verdict.kind)
def test_every_verdict_has_its_line(verdict: ver.Verdict) -> None:
    call = CallSummary({"strides": [2, 2], "auto_pad": "SAME_UPPER"}, [("X", [1, 2, 3], "f32")], "NCX", "IOX")
    record = Record("a/b/c[d=1]", "acme", DIALECT, verdict, 0.25, "artifacts/0.npz", call, "exact")
    for line in (header_line(header()), record_line(record)):
        validator(schemas.record_line).validate(json.loads(line))
