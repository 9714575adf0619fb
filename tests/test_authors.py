"""What helps an author of cases and waivers: the schema, a first file, the words that there are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from tconv import schemas
from tconv.corpus import Corpus
from tconv.corpus.facts import DERIVED, MEANINGS
from tconv.corpus.lint import lint
from tconv.diagnosis.misreadings import CATALOGUE
from tconv.dialects import DIALECTS
from tconv.dialects.constraints import CONSTRAINTS
from tconv.documents import document as yaml_file

if TYPE_CHECKING:
    from small_corpus import Command


@pytest.mark.parametrize("kind", ["case", "waiver", "record"])
def test_a_schema_is_printed_from_any_folder(kind: str, command: Command) -> None:
    """Its text is the shipped schema, and its path the shipped file."""
    path = Path(command("schema", kind, "--path").stdout.strip())
    text = command("schema", kind).stdout
    assert path.is_absolute()
    assert json.loads(text) == json.loads(path.read_text(encoding="utf-8"))
    assert path in schemas.SCHEMAS


@pytest.mark.parametrize(("topic", "stem"), [("mine", "mine"), ("padding/mine", "mine")])
def test_a_first_file_is_right_as_it_is(topic: str, stem: str, command: Command, tmp_path: Path) -> None:
    """It is valid by its schema, which its first line names; check finds nothing, and its cases can be listed."""
    done = command("new", topic)
    path = tmp_path / f"{topic}.yaml"
    assert (done.returncode, done.stdout.splitlines()[0]) == (
        0,
        f"{topic}.yaml is written; check it:  tconv check {topic}.yaml",
    )
    first, *_ = path.read_text(encoding="utf-8").splitlines()
    schema = Path(first.removeprefix("# yaml-language-server: $schema="))
    Draft202012Validator(json.loads(schema.read_text(encoding="utf-8"))).validate(yaml_file.read(path).value)
    corpus = Corpus.load(path)
    assert list(lint(corpus)) == []
    ids = list(corpus.ids())
    assert len(ids) == 11
    assert ids[:2] == [f"{stem}/by-hand", f"{stem}/pads-beside-a-mode"]
    again = command("new", topic)
    assert (again.returncode, again.stderr) == (
        2,
        f"{topic}.yaml: must not be there yet (got a file); choose another TOPIC, or remove it\n",
    )


@pytest.mark.parametrize("topic", ["../mine", "/mine", "a b", "a[b]", ""])
def test_a_topic_is_a_path_of_words(topic: str, command: Command) -> None:
    """What no pattern could match, or what lies elsewhere, is refused."""
    done = command("new", topic)
    assert done.returncode == 2
    assert done.stderr.startswith("tconv: TOPIC must be words of letters")


def words(command: Command, kind: str) -> list[str]:
    """Return the lines that `tconv list` prints of a kind of words."""
    done = command("list", f"--{kind}")
    assert done.returncode == 0
    return done.stdout.splitlines()


def test_the_words_are_listed(command: Command, corpus: Corpus) -> None:
    """Every constraint, reading, misreading and fact stands first in its line, and its meaning behind."""
    constraints = {line.partition("  ")[0]: line for line in words(command, "constraints")}
    assert list(constraints) == list(CONSTRAINTS)
    assert constraints["pads-without-auto-pad"].endswith(
        "pads are not written beside a padding mode; stated by onnx/ConvTranspose-1, onnx/ConvTranspose-11, "
        "onnx/ConvTranspose-22, geometry/1"
    )
    readings = [tuple(line.split("  ", 2)[:2]) for line in words(command, "readings")]
    assert readings == [(name, reading.name) for name, row in DIALECTS.items() for reading in row.disputed]
    misreadings = {line.partition("  ")[0] for line in words(command, "misreadings")}
    assert misreadings > {misreading.name for misreading in CATALOGUE}
    assert "odd_upper=begin" in misreadings
    facts = words(command, "facts")
    assert {line.partition("  ")[0] for line in facts} == corpus.fact_names
    assert all(line.partition("  ")[2] for line in facts)


def test_every_fact_that_follows_from_settings_has_a_meaning() -> None:
    """A fact that is added is told in words."""
    assert set(MEANINGS) == DERIVED
