"""The texts as the atlas's page needs them to port a call: rules, words, and what they forbid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from tconv.dialects import Stated
from tconv.dialects.rules import QUESTIONS, Answer, Rules
from tconv.reports.atlas import wording

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.dialects import Dialect


def ported_texts(dialects: Sequence[Dialect]) -> dict[str, Any]:
    """Return the texts, and each question with its answers, by the keys that resolver.js and port.js read."""
    return {
        "texts": [
            {
                "name": dialect.name,
                "rules": {question: str(getattr(dialect.rules, question)) for question in QUESTIONS},
                "words": _words(dialect),
                "modes": dict(dialect.spelling.auto_pad),
                "limitsOutputPadding": _states(dialect, "output-padding-below-stride-or-dilation"),
                "padsAlone": _states(dialect, "pads-without-auto-pad"),
            }
            for dialect in dialects
        ],
        "questions": {question: _answers(question) for question in QUESTIONS},
    }


def _words(dialect: Dialect) -> dict[str, str]:
    """Return the dialect's name for each attribute that it has, as an attribute or as an input."""
    inputs = (
        {"output_shape": dialect.spelling.inputs["output_shape"]} if "output_shape" in dialect.spelling.inputs else {}
    )
    return dict(dialect.spelling.attributes) | inputs


def _states(dialect: Dialect, constraint: str) -> bool:
    return isinstance(dialect.constraints[constraint], Stated)


def _answers(question: str) -> dict[str, Any]:
    kind = next(kind for kind in get_args(Answer) if kind.__name__ == Rules.__annotations__[question])
    return {
        "answers": [str(answer) for answer in kind],
        "words": {str(answer): wording.ANSWERS[answer] for answer in kind},
    }
