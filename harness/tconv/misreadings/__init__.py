"""The catalogue of misreadings: the distinct ways to get a transposed convolution wrong that no text allows.

Each is a row: a name, one sentence, where it was seen, and a change of what is written, of the geometry, of the
operands, of the result, or of how numbers are kept. The reference evaluated under a misreading is the same reference:
no transposed convolution is computed here. A foreign answer to a question of `rules`, one that only another text gives,
is a misreading too; see `of`.
"""

from __future__ import annotations

from functools import cache

from tconv.dialects import DIALECTS
from tconv.misreadings import kept, placed, returned, taken, written
from tconv.misreadings.imagining import Imagined, imagined
from tconv.misreadings.row import Misreading
from tconv.readings import AnswerOtherwise
from tconv.rules import QUESTIONS

__all__ = ["CATALOGUE", "Imagined", "Misreading", "imagined", "of"]

CATALOGUE = (*written.ROWS, *placed.ROWS, *taken.ROWS, *returned.ROWS, *kept.ROWS)
"""All of them, what is written first; the simplest that explains an output is named first."""


@cache
def of(dialect_name: str) -> tuple[Misreading, ...]:
    """Return the misreadings of a dialect: answers that its text does not allow, and those of the catalogue."""
    row = DIALECTS[dialect_name]
    allowed = {(reading.change.question, reading.change.answer) for reading in row.disputed}
    foreign = [
        Misreading(f"{question}={answer}", f"{question} is answered by {answer}", AnswerOtherwise(question, answer))
        for question in QUESTIONS
        for answer in type(getattr(row.rules, question))
        if answer != getattr(row.rules, question) and (question, answer) not in allowed
    ]
    return (*foreign, *CATALOGUE)
