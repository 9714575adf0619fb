"""The phrase of a cause's example, with marks for numbers that differ in other cases; a long phrase is cut."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from tconv.gate.status import choose_example
from tconv.reports.phrases import phrase, reason
from tconv.shown_texts import shortened
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tconv.gate.status import RecordStatus

_Group = TypeVar("_Group", bound=tuple[object, ...])

_LONGEST = 160
"""The most characters of a phrase; a longer one loses its middle."""
_NUMBER = re.compile(r"((?<![\w.])\d+(?!\w|\.\d))")
"""An integer that is not part of a name or of a version."""
_MESSAGES = ver.RefusedValid | ver.BackendError | ver.Unsupported | ver.Crashed
"""Verdicts whose phrase is a runtime's message."""


def example_phrases(groups: Mapping[_Group, Sequence[RecordStatus]]) -> dict[_Group, str]:
    """Return the phrase of each group's example; a long one loses its middle.

    Args:
        groups: the members of each cause, by the key of the cause.
    """
    return {
        group: shortened(_marked(choose_example(members, group), members), _LONGEST)
        for group, members in groups.items()
    }


def _phrase_of(member: RecordStatus) -> str:
    return reason(member) or phrase(member.ruling)


def _marked(shown: RecordStatus, members: Iterable[RecordStatus]) -> str:
    """Return the phrase of the example; in a message, `#` replaces each number that differs in another member."""
    text = _phrase_of(shown)
    if not isinstance(shown.ruling, _MESSAGES):
        return text
    splits = [_NUMBER.split(other) for other in {text, *map(_phrase_of, members)}]
    if len({len(parts) for parts in splits}) > 1:
        return text
    # Every second part is a number.
    columns = enumerate(zip(*splits, strict=True))
    marks = {at for at, column in columns if at % 2 and len(set(column)) > 1}
    return "".join("#" if at in marks else part for at, part in enumerate(_NUMBER.split(text)))
