"""The words that case files, patterns and waivers may use: constraints, facts, readings, misreadings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv import schemas
from tconv.corpus.facts import MEANINGS, NAMES
from tconv.diagnosis.misreadings import misreadings_of
from tconv.dialects import DIALECTS, Stated
from tconv.dialects.constraints import CONSTRAINTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.corpus import Corpus


def lines(what: str, corpus: Corpus) -> Iterator[str]:
    """Yield a line for each word of a kind: the word, two spaces, and what it means."""
    return {"constraints": _constraints, "readings": _readings, "misreadings": _misreadings}.get(
        what, lambda: _facts(corpus)
    )()


def _constraints() -> Iterator[str]:
    for name, constraint in CONSTRAINTS.items():
        stating = [str(dialect) for dialect in DIALECTS.values() if isinstance(dialect.constraints[name], Stated)]
        yield f"{name}  {constraint.says}; stated by {', '.join(stating) or 'none'}"


def _facts(corpus: Corpus) -> Iterator[str]:
    settings = schemas.case_file()["$defs"]["Settings"]["properties"]
    for name in sorted(NAMES):
        yield f"{name}  {MEANINGS.get(name) or settings[name]['description']}"
    for name in sorted(corpus.fact_names - NAMES):
        sweeps = [sweep.id for sweep in corpus.sweeps.values() if name in {axis.name for axis in sweep.axes}]
        yield f"{name}  an axis of {', '.join(sweeps)}"


def _readings() -> Iterator[str]:
    for dialect in DIALECTS.values():
        for reading in dialect.disputed:
            yield f"{dialect}  {reading.name}  {reading.says}"


def _misreadings() -> Iterator[str]:
    """Yield those of every dialect: an answer to a question is one where the dialect's text does not allow it."""
    meanings = {
        misreading.name: misreading.says for dialect in DIALECTS.values() for misreading in misreadings_of(dialect)
    }
    for name, text in meanings.items():
        yield f"{name}  {text}"
