"""The rooms of the package: the import contract, the docs and the folders say the same, in the same order."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "harness" / "tconv"
NO_ROOM = {"__init__", "__main__"}


def names(text: str) -> list[str]:
    return [name.removesuffix(".py") for name in re.findall(r"\b([a-z_]+(?:\.py|(?=/)))", text)]


@pytest.fixture(scope="module")
def contract() -> list[list[str]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (layers,) = settings["tool"]["importlinter"]["contracts"]
    return [re.split(r" [|:] ", layer) for layer in reversed(layers["layers"])]


def sections(path: Path) -> dict[str, str]:
    _, *parts = re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {heading: text for heading, _, text in (part.partition("\n") for part in parts)}


def test_every_module_and_folder_is_a_room(contract: list[list[str]]) -> None:
    found = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert sorted(name for layer in contract for name in layer) == sorted(found - NO_ROOM)


def test_the_docs_have_the_order_of_the_contract(contract: list[list[str]]) -> None:
    table = re.split(r"^## ", (ROOT / "docs/why/architecture.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[0]
    rows = [names(line.split("|")[1]) for line in table.splitlines() if line.startswith("| `")]
    rooms = sections(ROOT / "CONTRIBUTING.md")["Rooms"]
    listed = names("\n".join(line for line in rooms.splitlines() if line.startswith("    ")))
    for named in ([name for row in rows for name in row], listed):
        at = iter(named)
        assert [sorted(next(at) for _ in layer) for layer in contract] == [sorted(layer) for layer in contract]
        assert list(at) == []


@pytest.mark.parametrize("folder", sorted(path.parent for path in PACKAGE.rglob("__init__.py")), ids=lambda p: p.name)
def test_a_folder_says_what_it_is_for(folder: Path) -> None:
    docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    assert docstring is not None
    assert len(docstring.split()) > 3
