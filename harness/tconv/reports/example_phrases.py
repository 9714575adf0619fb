"""The phrase of the case that stands for a cause, marked where others differ from it, and cut where it is long."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

from tconv.gate.status import choose_example
from tconv.reports.phrases import phrase, reason
from tconv.shown_texts import beginning, without_beginning
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tconv.gate.status import RecordStatus

_Group = TypeVar("_Group", bound=tuple[object, ...])

_LONGEST = 160
"""Characters of a phrase; a longer one is cut."""
_BEGINNING = 40
"""Characters of its beginning that are left of a phrase whose middle is left out."""
_NUMBER = re.compile(r"((?<![\w.])\d+(?!\w|\.\d))")
"""A whole number that is no part of a name or of a version."""
_MESSAGES = ver.RefusedValid | ver.Broke | ver.Unsupported | ver.Died
"""Verdicts whose phrase is a runtime's message."""


def example_phrases(groups: Mapping[_Group, Sequence[RecordStatus]]) -> dict[_Group, str]:
    """Return the phrase of the example of each group, so long that those that begin alike can be told apart.

    Args:
        groups: the members of each cause, by what makes records those of the cause.
    """
    phrases = {group: _marked(choose_example(members, group), members) for group, members in groups.items()}
    shortened = _shortened(phrases.values())
    return {group: shortened[text] for group, text in phrases.items()}


def _phrase_of(member: RecordStatus) -> str:
    return reason(member) or phrase(member.ruling)


def _marked(shown: RecordStatus, members: Iterable[RecordStatus]) -> str:
    """Return the phrase of the example; of a message, with `#` for each number that another member does not have."""
    text = _phrase_of(shown)
    if not isinstance(shown.ruling, _MESSAGES):
        return text
    parts = _NUMBER.split(text)
    others = [_common_parts(_NUMBER.split(other), parts) for other in set(map(_phrase_of, members))]
    # Every second part is a number.
    return "".join(
        "#" if at % 2 and any(other[at : at + 1] != [part] for other in others) else part
        for at, part in enumerate(parts)
    )


def _common_parts(parts: list[str], others: list[str]) -> list[str]:
    """Return the parts of a text before the first that another text has not; all where both have as many numbers."""
    if len(parts) == len(others):
        return parts
    differs = (at for at in range(0, len(parts), 2) if parts[at : at + 1] != others[at : at + 1])
    return parts[: next(differs, len(parts))]


def _shortened(texts: Iterable[str]) -> dict[str, str]:
    """Return each text in at most about `_LONGEST` characters, so that those that begin alike can be told apart."""
    in_order = sorted(set(texts))
    # In this order no text begins more like another one than like one of its neighbours.
    shared = [_common_length(*pair) for pair in pairwise(["", *in_order, ""])]
    return {text: _cut(text, max(counts)) for text, counts in zip(in_order, pairwise(shared), strict=True)}


def _common_length(text: str, other: str) -> int:
    """Return with how many characters in common two texts begin."""
    pairs = enumerate(zip(text, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(text), len(other)))


def _cut(text: str, shared: int) -> str:
    """Return a long text without its end; where it shares more with another one, without a part of what they share.

    Args:
        text: the text.
        shared: how many characters of its beginning it has in common with another text.
    """
    if len(text) <= _LONGEST:
        return text
    if shared <= _LONGEST // 2:
        return f"{beginning(text, _LONGEST)}..."
    return f"{beginning(text, _BEGINNING)} ... {_cut(without_beginning(text, shared - _BEGINNING // 2), 0)}"
