"""The releases that tox installs are those of all that `pyproject.toml` names, and of nothing else."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]


def requirements() -> Iterator[Requirement]:
    document = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, groups = document["project"], document["dependency-groups"]
    for lines in (project["dependencies"], *project["optional-dependencies"].values(), *groups.values()):
        yield from (Requirement(line) for line in lines if isinstance(line, str))


def releases() -> dict[str, str]:
    lines = (ROOT / "tests" / "versions.txt").read_text().splitlines()
    pairs = (line.split("==") for line in lines if not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in pairs}


def test_each_requirement_has_a_release_that_fulfils_it() -> None:
    written = releases()
    assert {canonicalize_name(requirement.name) for requirement in requirements()} == set(written)
    assert [str(each) for each in requirements() if written[canonicalize_name(each.name)] not in each.specifier] == []


@pytest.mark.parametrize("page", ["README.md", "docs/start/first-steps.md"])
def test_what_a_page_shows_is_printed_by_these_releases(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    shown = "\n".join(re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    assert {*re.findall(r"\bonnxruntime[ -]([0-9.]+[0-9])", shown)} == {releases()["onnxruntime"]}
