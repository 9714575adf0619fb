"""The documentation's examples: every YAML loads, every command is one, every case and link is there."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
import shlex
import subprocess
import sys
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest
import yaml

from tconv import backends
from tconv.backends import onnx_model
from tconv.cli import _tconv
from tconv.corpus import Corpus
from tconv.corpus.lint import lint
from tconv.dialects import DIALECTS, find_dialect
from tconv.expectation.problem import Problem
from tconv.export.snippet import snippet, usual_dialect
from tconv.gate.waivers import load

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BACKENDS = "docs/reference/backends.md"


def blocks(page: str, language: str) -> list[str]:
    """Return the fenced blocks of a language on a page."""
    return re.findall(
        rf"^```{language}\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )


FENCED = re.MULTILINE | re.DOTALL
LINKS = [
    (page, target)
    for page in PAGES
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("page", "target"), LINKS, ids=lambda value: getattr(value, "name", value))
def test_a_link_leads_somewhere(page: Path, target: str) -> None:
    """Every relative link is a file or a folder, and a heading of a file where it names one."""
    path, _, heading = target.partition("#")
    file = page.parent / path if path else page
    assert file.exists()
    text = file.read_text(encoding="utf-8") if file.suffix == ".md" else ""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    assert heading in {"", *(re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in headings)}


COMMANDS = {
    (page, line)
    for page in PAGES
    for text in [page.read_text(encoding="utf-8")]
    for line in (
        *re.findall(
            r"^ *(?:\w+=\S+ )?(tconv .*)", "".join(re.findall(r"^```sh\n(.*?)^```$", text, FENCED)), re.MULTILINE
        ),
        *re.findall(r"^    (tconv .*)", text, re.MULTILINE),
        *re.findall(r"`(tconv [^`]*)`", text),
    )
}
"""Those of fenced blocks, of indented lines and within sentences."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_the_docs_is_one(page: Path) -> None:
    """Each has a name and options that there are; what stands for a value, such as CASE or N, may be anything."""
    wrong = []
    for line in sorted(line for of, line in COMMANDS if of == page):
        words = list(takewhile(lambda word: word not in {">", "&&", "|"}, shlex.split(line, comments=True)[1:]))
        command = _tconv.get_command(click.Context(_tconv), words[0]) if words else _tconv
        try:
            (command or _tconv).make_parser(click.Context(command or _tconv)).parse_args(words[1:])
        except click.NoSuchOption as error:
            wrong.append((line, str(error)))
        except click.BadOptionUsage:
            # In a sentence an option may stand without its value.
            continue
        if command is None and not words[0].startswith("-"):
            wrong.append((line, "no such command"))
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_child_that_the_docs_start_is_there(page: Path) -> None:
    """A script that a command gives to node is a file of this repository."""
    scripts = re.findall(r"'exec:node ([^ ']+)", page.read_text(encoding="utf-8"))
    assert [script for script in scripts if not (ROOT / script).is_file()] == []


@pytest.mark.parametrize(
    "code",
    [block for page in PAGES for block in re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), FENCED)],
)
def test_python_of_the_docs_is_python(code: str) -> None:
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "tconv":
            module = importlib.import_module(node.module or "")
            assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == []


@pytest.mark.parametrize("name", ["tconv.api.conforming", "tconv.api.reference", "tconv.investigation.strategies"])
def test_the_examples_of_docstrings_are_right(name: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert (failed, tried > 0) == (0, True)


def test_the_strategy_of_the_docs_draws_cases() -> None:
    (code,) = (block for block in blocks("docs/how-to/investigate.md", "python") if "@given" in block)
    names: dict[str, Callable[[], None]] = {}
    exec(code, names)  # noqa: S102 - it is what is tested
    names["test_my_runtime"]()


@pytest.mark.parametrize(
    ("backend", "labels", "shown"),
    [
        ("onnxruntime", "two-sizes[geometry=same-added,context.use=beside-uncropped]", "attempting to re-use buffer"),
        (
            "onnxruntime",
            "levels[geometry=volume-unequal,context.data=uint8,context.filter=reshape,context.bias=unnamed,context.end=int8]",
            "expected 11 got 10",
        ),
        (
            "openvino",
            "levels[geometry=crop-begin,context.before=pad-begin]",
            "shape (1, 2, 7, 5) expected (1, 2, 8, 7)",
        ),
        ("openvino", "levels[geometry=upsample,context.data=int8,context.filter=uint8]", "expected 8.75 got -663.25"),
        (
            "openvino",
            "levels[geometry=upsample,context.end=f16,context.values=full-range]",
            "expected 18464.0 got 18472.0",
        ),
    ],
)
def test_the_script_of_a_finding_shows_it(
    corpus: Corpus, tmp_path: Path, backend: str, labels: str, shown: str
) -> None:
    """The code of its report needs the runtime alone, and prints what is wrong. These need no certain processor."""
    pytest.importorskip(backend)
    case_id = f"contexts/neighbours/{labels}"
    assert f"'{case_id}'" in (ROOT / "docs/findings.yaml").read_text(encoding="utf-8")
    case = corpus.find(case_id)
    assert case is not None
    source = snippet(Problem(case, find_dialect(usual_dialect(backend))), backend)
    assert source is not None
    assert "import tconv" not in source
    (tmp_path / "report.py").write_text(source, encoding="utf-8")
    command = [sys.executable, "-I", "report.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert shown in done.stdout + done.stderr


def test_the_case_file_of_the_docs_is_one(tmp_path: Path) -> None:
    (example,) = blocks("docs/how-to/write-a-case.md", "yaml")
    file = tmp_path / "example.yaml"
    file.write_text(example)
    corpus = Corpus.load(file)
    assert [finding.message for finding in lint(corpus)] == []
    assert len(list(corpus.cases("full"))) == 7


def test_the_waiver_file_of_the_docs_is_one(tmp_path: Path) -> None:
    file = tmp_path / "example.yaml"
    file.write_text("".join(blocks("docs/how-to/waive.md", "yaml")))
    read = load(file)
    assert [waiver.name for waiver in read.waivers] == ["group-zero-divides"]
    assert [pin.question for pin in read.pins] == ["negative_same", "output-not-empty"]


def test_what_a_backend_imports_is_in_one_place() -> None:
    """All that the docs name of it, and every outcome of the table, is in `tconv.backends`."""
    page = (ROOT / "docs/reference/backends.md").read_text(encoding="utf-8")
    outcomes = re.findall(r"^\| `([A-Z]\w+)\(", page, re.MULTILINE)
    assert outcomes == ["Produced", "ShapeOnly", "Refused", "Unsupported", "BackendError"]
    assert {"Backend", "BackendInfo", *outcomes, "Crashed", "TimedOut", "Outcome"} <= set(backends.__all__)
    assert all(hasattr(backends, name) for name in backends.__all__)
    for name in ("start/first-steps", "start/own-runtime", "reference/backends"):
        assert all("tconv.backends.outcome" not in block for block in blocks(f"docs/{name}.md", "python"))


def test_the_glossary_has_each_word_once() -> None:
    """In the order of the alphabet, and each word in italics has a row; CONTRIBUTING.md has no list beside it."""
    text = (ROOT / "docs/reference/glossary.md").read_text(encoding="utf-8")
    cells = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")][1:]
    assert cells == sorted(cells, key=str.casefold)
    words = {word for cell in cells for word in cell.split(", ")}
    assert {re.sub("s$", "", word) for word in re.findall(r"\*([\w ]+)\*", text.partition("|---")[2])} <= (
        words | {"disputed"}
    )
    assert "| word |" not in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_dialects_are_all_told() -> None:
    """Each with its default layouts, in the table of the page on backends."""
    table = dict(re.findall(r"^\| (`.*?/.*?) \| (.*) \|$", (ROOT / BACKENDS).read_text(encoding="utf-8"), re.MULTILINE))
    told = {}
    for names, layouts in table.items():
        stem = ""
        for name in re.findall(r"`(.*?)`", names):
            stem = name.rpartition("-")[0] if "/" in name else stem
            told[name if "/" in name else stem + name] = layouts
    assert told == {name: f"{dialect.data_format}, {dialect.filter_format}" for name, dialect in DIALECTS.items()}
    assert set(onnx_model.ONNX_DIALECT_NAMES) <= set(told)


def test_each_case_of_the_findings_is_one() -> None:
    """Whoever fixes a finding runs its case."""
    findings = yaml.safe_load((ROOT / "docs/findings.yaml").read_text(encoding="utf-8"))
    patterns = [row["case"] for rows in findings.values() for row in rows if "case" in row]
    assert len(patterns) > 20
    corpus = Corpus.load()
    assert [case for case in patterns if not (corpus.find(case) or corpus.count(patterns=[case]))] == []
