"""The published JSON Schemas: they are what the models generate, accept what ships, and know no unknown key."""

from __future__ import annotations

import functools
import json
import operator
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from made_records import DIALECT, EVERY_VERDICT, header
from tconv import documents, schemas
from tconv.corpus.case_file import DEFAULTS
from tconv.datafiles import data_folder
from tconv.records.headers import header_line
from tconv.records.record import CallSummary, Record, record_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tconv.verdict import kinds as ver

CASE_FILE: dict[str, Any] = {
    "format": 1,
    "about": "One sweep and one case.",
    "cites": [{"dialect": "onnx/ConvTranspose-11", "clause": "doc, total_padding[i] = ..."}],
    "base": {"batch": 2, "channels": 4, "bias": True, "dtype": "f32", "data": "integers"},
    "sweeps": [
        {
            "name": "crop",
            "with": {"kernel": [2, 2]},
            "axes": {
                "shape": {"line": {"spatial": [5], "kernel": [3]}, "plane": {"spatial": [5, 4], "kernel": [3, 2]}},
                "auto_pad": ["explicit", "same_upper", {"raw": "SAME"}],
                "output_shape": ["full", "full-1", ["full+1", 7], 5],
                "strides": [1, [3, 4]],
            },
            "skip": [{"when": {"auto_pad": "valid", "output_shape": ["full-1", ["full+1", 7]]}, "because": "it is so"}],
        }
    ],
    "cases": [
        {
            "name": "by-hand",
            "with": {"breaks": "strides-given", "omit": ["strides"], "x": {"values": [1, 2, 3]}, "w": {"channels": 6}},
            "expected": [{"dialects": ["onnx/ConvTranspose-1"], "spatial": [6], "values": [1, 10, 102]}],
        }
    ],
}
WAIVER_FILE: dict[str, Any] = {
    "format": 1,
    "backend": "onnxruntime",
    "unsupported": [{"where": {"dtype": ["f64", "bf16"]}, "because": "NOT_IMPLEMENTED"}],
    "waivers": [
        {
            "name": "some-deviation",
            "dialects": ["onnx/ConvTranspose-22"],
            "cases": "padding/output-shape/grow",
            "where": {"auto_pad": "same_upper", "output_padding": 0},
            "machine": {"with": ["avx2"], "without": ["avx512_fp16", "amx_bf16"], "system": "Linux"},
            "verdict": {"kind": "differed", "wrong": 3},
            "versions": ">=1.28",
            "clause": "doc",
            "because": "it rounds otherwise",
            "example": "padding/output-shape/grow[strides=3]",
            "link": None,
            "date": "2026-11-20",
        }
    ],
}


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


def with_key(document: dict[str, Any], path: tuple[str | int, ...], key: str) -> dict[str, Any]:
    changed = here = deepcopy(document)
    for step in path:
        here = here[step]  # type: ignore[index]
    here[key] = {"very": ["odd"]}
    return changed


@pytest.mark.parametrize("path", schemas.SCHEMAS, ids=lambda path: path.name)
def test_the_shipped_file_is_what_the_models_generate(path: Path) -> None:
    """A change of a model without `python -m tconv.schemas` is found here."""
    assert json.loads(path.read_text(encoding="utf-8")) == schemas.SCHEMAS[path]()


def test_main_writes_every_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemas, "SCHEMAS", {tmp_path / "one.json": schemas.case_file})
    schemas.main()
    assert json.loads((tmp_path / "one.json").read_text()) == schemas.case_file()


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


def test_defaults_are_those_that_are_taken() -> None:
    """A setting's default is what a case without it has; other keys have the model's, where there is one."""
    parts = schemas.case_file()["$defs"]
    defaults = {name: value["default"] for name, value in parts["Settings"]["properties"].items() if "default" in value}
    assert defaults == DEFAULTS
    assert parts["Single"]["properties"]["tier"]["default"] == "gate"
    assert parts["Single"]["properties"]["with"]["default"] == {}
    waiver = schemas.waiver_file()["$defs"]["Waiver"]["properties"]
    assert (waiver["cases"]["default"], waiver["after-others"]["default"]) == ("**", False)
    assert "default" not in waiver["link"]


@pytest.mark.parametrize(
    ("make", "folder"), [(schemas.case_file, "cases"), (schemas.waiver_file, "waivers")], ids=["cases", "waivers"]
)
def test_every_shipped_file_is_valid(make: Any, folder: str) -> None:  # noqa: ANN401 - one of the module's functions
    files = sorted(data_folder(folder).rglob("*.yaml"))
    assert files
    check = validator(make)
    for file in files:
        check.validate(documents.read(file).value)


@pytest.mark.parametrize(
    ("make", "document"), [(schemas.case_file, CASE_FILE), (schemas.waiver_file, WAIVER_FILE)], ids=["case", "waiver"]
)
def test_an_unknown_key_is_refused_wherever_it_stands(make: Any, document: dict[str, Any]) -> None:  # noqa: ANN401
    """At the top, in a part, in a label's settings, in an operand, in a verdict, among an axis's labels."""
    check = validator(make)
    check.validate(document)
    for path in mappings(document):
        with pytest.raises(ValidationError):
            check.validate(with_key(document, path, "No Such Key"))


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"strides": [1, "two"]}, "'two'"),
        ({"groups": [[1, 2]]}, r"\[1, 2\]"),
        ({"output_shape": ["fall"]}, "'fall'"),
        ({"auto_pad": ["same-upper"]}, "'same-upper'"),
        ({"nothing-known": [1, 2]}, r"\[1, 2\]"),
        ({"shape": {"line": {"spatial": 5}}}, "^5 is not"),
        ({"strides": []}, r"\[\]"),
        ({}, "{}"),
    ],
)
def test_axes_are_typed_by_the_key_that_they_vary(axes: dict[str, Any], message: str) -> None:
    """A list's values are that key's values; another name must have labels."""
    document = deepcopy(CASE_FILE)
    document["sweeps"][0]["axes"] = axes
    with pytest.raises(ValidationError, match=message):
        validator(schemas.case_file).validate(document)


@pytest.mark.parametrize(
    ("path", "word"),
    [(("cites", 0, "dialect"), "onnx/ConvTranspose-12"), (("cases", 0, "with", "breaks"), "strides-gone")],
)
def test_words_are_the_known_ones(path: tuple[str | int, ...], word: str) -> None:
    with pytest.raises(ValidationError, match=word):
        validator(schemas.case_file).validate(with_value(CASE_FILE, path, word))


def with_value(document: dict[str, Any], path: tuple[str | int, ...], value: object) -> dict[str, Any]:
    changed = here = deepcopy(document)
    for step in path[:-1]:
        here = here[step]  # type: ignore[index]
    here[path[-1]] = value  # type: ignore[index]
    return changed


def test_a_waiver_names_any_keys_of_its_verdict() -> None:
    """The kind alone, or with whichever keys of that kind matter; never another kind's."""
    check = validator(schemas.waiver_file)
    check.validate(with_value(WAIVER_FILE, ("waivers", 0, "verdict"), {"kind": "refused-valid"}))
    for verdict in ({}, {"kind": "wrong"}, {"kind": "refused-valid", "wrong": 3}, {"message": "no"}):
        with pytest.raises(ValidationError):
            check.validate(with_value(WAIVER_FILE, ("waivers", 0, "verdict"), verdict))


@pytest.mark.parametrize("verdict", EVERY_VERDICT, ids=lambda verdict: verdict.kind)
def test_every_verdict_has_its_line(verdict: ver.Verdict) -> None:
    call = CallSummary({"strides": [2, 2], "auto_pad": "SAME_UPPER"}, [("X", [1, 2, 3], "f32")], "NCX", "IOX")
    record = Record("a/b/c[d=1]", "acme", DIALECT, verdict, 0.25, "artifacts/0.npz", call, "exact")
    check, line = validator(schemas.record_line), json.loads(record_line(record))
    check.validate(line)
    for path in ((), ("verdict",), ("call",)):
        with pytest.raises(ValidationError):
            check.validate(with_key(line, path, "more"))


def test_the_header_is_a_line() -> None:
    check, line = validator(schemas.record_line), json.loads(header_line(header()))
    check.validate(line)
    with pytest.raises(ValidationError):
        check.validate(with_key(line, ("run",), "more"))
