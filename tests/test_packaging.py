"""What is built: a wheel with its data, nothing stray, an sdist that gives the same wheel, a light import."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_string
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tconv
from tconv.datafiles import data_folder

if TYPE_CHECKING:
    from email.message import Message

ROOT = Path(__file__).parent.parent
PAGE = {"tconv/reports/page/page.html.j2", "tconv/reports/page/page.css", "tconv/reports/page/page.min.js"}
SCHEMAS = {
    "tconv/corpus/case-file.schema.json",
    "tconv/gate/waiver-file.schema.json",
    "tconv/records/record-line.schema.json",
}


def build(source: Path, kind: str, folder: Path) -> Path:
    """Build a distribution with the backend that is installed, so without a network."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, text=True)
    return next(folder.iterdir())


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, "sdist", tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def facts(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_string(archive.read(name).decode())


def test_nothing_stray_reaches_site_packages(names: set[str]) -> None:
    """The package and its metadata; `harness`, `cases` and `reports` are no names to give away."""
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"tconv", f"tconv_conformance-{tconv.__version__}.dist-info"}


def test_the_wheel_holds_the_modules_and_what_they_read(names: set[str]) -> None:
    """Every file of the source root that is no cache, the type marker, the page and the schemas among them."""
    source = ROOT / "harness"
    files = {file.relative_to(source).as_posix() for file in source.rglob("*") if file.is_file()}
    assert {name for name in files if "__pycache__" not in name} <= names
    assert names >= {"tconv/py.typed"} | PAGE | SCHEMAS


@pytest.mark.parametrize(
    ("source", "target"),
    [("cases", "tconv/data/cases")]
    + [(f"conformance/{name}", f"tconv/data/{name}") for name in ("records", "runners", "waivers")],
    ids=["cases", "records", "runners", "waivers"],
)
def test_the_wheel_holds_the_data(names: set[str], source: str, target: str) -> None:
    files = {file.relative_to(ROOT / source).as_posix() for file in (ROOT / source).rglob("*") if file.is_file()}
    files = {file for file in files if not {"__pycache__", "node_modules"} & {*Path(file).parts}}
    assert files
    assert {name for name in names if name.startswith(f"{target}/")} == {f"{target}/{file}" for file in files}


def test_an_sdist_builds_the_same_wheel(sdist: Path, names: set[str], tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        # Python 3.11.0 to 3.11.3 have no filters.
        filters = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(tmp_path / "unpacked", **filters)  # noqa: S202 - our own archive, and filtered if it can be
    (folder,) = (tmp_path / "unpacked").iterdir()
    assert (folder / "tests" / Path(__file__).name).is_file()
    with zipfile.ZipFile(build(folder, "wheel", tmp_path / "wheel")) as archive:
        assert set(archive.namelist()) == names


def test_the_metadata_says_what_it_is(facts: Message) -> None:
    assert facts["Name"] == "tconv-conformance"
    assert facts["Version"] == tconv.__version__
    assert facts["Requires-Python"] == ">=3.11"
    assert facts["License-Expression"] == "Apache-2.0"
    assert facts.get_all("License-File") == ["LICENSE", "NOTICE"]
    assert facts["Description-Content-Type"] == "text/markdown"


def test_the_page_of_the_package_leads_to_the_repository(facts: Message) -> None:
    """Its links and pictures are absolute, made from one address, which no second file has."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    address = pyproject["tool"]["hatch"]["metadata"]["hooks"]["custom"]["repository"]
    page = str(facts.get_payload())
    targets = re.findall(r"\]\(([^)]+)\)|src(?:set)?=\"([^\"]+)\"", page)
    assert len(targets) > 20
    assert [target for target in map("".join, targets) if not target.startswith("https://")] == []
    assert f"Repository, {address}" in facts.get_all("Project-URL", [])
    folders = ("harness", "docs", "tests", "cases", "conformance", ".github", ".ci")
    files = [*ROOT.glob("*.*"), *(file for name in folders for file in (ROOT / name).rglob("*.*"))]
    kinds = {".md", ".py", ".toml", ".yml", ".yaml", ".cff", ".json"}
    text_files = [file for file in files if file.suffix in kinds and "node_modules" not in file.parts]
    assert [file.name for file in text_files if address in file.read_text(encoding="utf-8")] == ["pyproject.toml"]


def test_no_development_tool_is_a_dependency(facts: Message) -> None:
    """Neither a runtime but onnxruntime, nor what only tests need; other runtimes come by extras."""
    lines = [line for line in facts.get_all("Requires-Dist", []) if "extra ==" not in line]
    required = {re.split(r"[^\w.-]", line)[0] for line in lines}
    assert required >= {"numpy", "onnx", "onnxruntime", "pyyaml"}
    assert not required & {"torch", "openvino", "pytest", "hypothesis", "playwright"}


def test_the_entry_points_load() -> None:
    """The command, the pytest plugin and the runtime that is a dependency load; the modules of others are there."""
    declared = list(metadata.distribution("tconv-conformance").entry_points)
    needed = {("console_scripts", "tconv"), ("pytest11", "tconv"), ("tconv.backends", "onnxruntime")}
    assert needed <= {(entry.group, entry.name) for entry in declared}
    for entry in declared:
        assert find_spec(entry.module) is not None
        assert (entry.group, entry.name) not in needed or entry.load() is not None


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("tconv", {"numpy", "onnx", "onnxruntime"}),
        ("tconv.backends", {"numpy", "onnx", "onnxruntime"}),
        # multiprocessing is not among them: coverage, where it measures a subprocess, imports it first.
        ("tconv.pytest_plugin", {"numpy", "onnx", "onnxruntime", "pydantic", "yaml", "click"}),
    ],
)
def test_importing_imports_nothing_that_takes_time(module: str, absent: set[str]) -> None:
    """Whoever asks for the version, and every user of pytest who has tconv installed, waits for nothing."""
    code = f"import sys, {module}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert module in loaded
    assert not absent & {name.partition(".")[0] for name in loaded}


@pytest.mark.skipif(
    not os.environ.get("TOX_ENV_NAME", "").startswith(("tests", "thorough")), reason="only tox installs the wheel"
)
def test_tests_see_the_installed_wheel() -> None:
    for path in (Path(tconv.__file__), data_folder("cases"), data_folder("waivers")):
        assert "site-packages" in path.parts
        assert not path.is_relative_to(ROOT / "harness")


def test_ci_runs_the_commands_of_the_readme() -> None:
    """`.ci/run` ends with the README's test command, and the README starts with the one that runs tconv."""
    blocks = re.findall(r"^(python3 -m venv .*)$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert [block.split()[-1] for block in blocks] == ["run", ".venv/bin/tox"]
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()[-1] == blocks[1]
