"""Patterns for cases, the same on the command line and in waivers.

A pattern is a glob for the path, with `*` within a segment and `**` across segments. Conditions on the case's facts may
follow, in any order: `padding/*/grow[auto_pad=same_upper,strides=2|3]`. If a pattern ends before the path does, it
matches everything below.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from tconv.cases.context import PREFIX
from tconv.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_SHAPE = re.compile(r"(?P<path>[^\[\]]+)(?:\[(?P<conditions>[^\[\]]*)\])?")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A parsed pattern.

    Attributes:
        text: the text of the pattern.
        path: the expression for the path.
        conditions: the allowed texts of each fact.
    """

    text: str
    path: re.Pattern[str]
    conditions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def matches(self, case_id: str, facts: Mapping[str, str]) -> bool:
        """Return whether a case with this id and these facts matches."""
        return bool(self.path.fullmatch(path_of(case_id))) and all(
            facts.get(key) in allowed for key, allowed in self.conditions.items()
        )


@lru_cache(maxsize=1024)
def parse(text: str) -> Pattern:
    """Return the pattern.

    Raises:
        UsageError: the text is no pattern.
    """
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise UsageError(f"a pattern must be PATH or PATH[key=value,...] (got {text!r})")
    return Pattern(text, re.compile(_expression(shape["path"])), _conditions(text, shape["conditions"] or ""))


def facts_of(case_id: str) -> dict[str, str]:
    """Return the facts in an id: its labels."""
    return dict(pair.split("=", 1) for pair in case_id.partition("[")[2].rstrip("]").split(",") if "=" in pair)


def levels_of(case_id: str) -> tuple[str, ...]:
    """Return the levels of a context in an id, such as `context.end=int8`; none for a plain case."""
    return tuple(text for text in case_id.partition("[")[2].rstrip("]").split(",") if text.startswith(PREFIX))


def with_levels(case_id: str, levels: Collection[str]) -> str:
    """Return an id with only these of its levels."""
    path, opening, labels = case_id.partition("[")
    kept = [text for text in labels.rstrip("]").split(",") if text in levels or not text.startswith(PREFIX)]
    return f"{path}{opening}{','.join(kept)}]"


def twin_of(case_id: str) -> str | None:
    """Return the id of the plain twin of a case in a context, with the operator alone; None for any other case."""
    return with_levels(case_id, ()) if levels_of(case_id) else None


def path_of(case_id: str) -> str:
    """Return the path of an id or of a pattern, without labels in brackets."""
    return case_id.partition("[")[0]


def topic_of(case_id: str) -> str:
    """Return the topic of a case: the first segment of its id."""
    return path_of(case_id).split("/", 1)[0]


def label(value: object) -> str:
    """Return a value as in ids and facts: lists joined by `x`, booleans in YAML's words."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "none"
    if isinstance(value, list | tuple):
        return "x".join(label(entry) for entry in value)
    return str(value)


def _expression(glob: str) -> str:
    """Return a glob as a regular expression that is fast for any number of stars.

    The text after a star matches at its first occurrence only, and is not tried again (`(?>`). The exceptions are the
    last `**` and the last `*`: the text after these must reach the end, or a slash.
    """
    first, *later = glob.rstrip("/").split("**")
    if not later:
        return f"{_within(first, is_last=True)}(?:/.*)?"
    middle = "".join(f"(?>.*?{_within(part)})" for part in later[:-1])
    return f"{_within(first)}{middle}.*{_within(later[-1], is_last=True)}(?:/.*)?"


def _within(glob: str, *, is_last: bool = False) -> str:
    """Return the expression of a part of a glob without `**`."""
    first, *later = ("[^/]".join(map(re.escape, part.split("?"))) for part in glob.split("*"))
    last = f"[^/]*{later.pop()}" if is_last and later else ""
    return first + "".join(f"(?>[^/]*?{part})" for part in later) + last


def _conditions(text: str, conditions: str) -> dict[str, tuple[str, ...]]:
    allowed: dict[str, tuple[str, ...]] = {}
    for condition in filter(None, (part.strip() for part in conditions.split(","))):
        key, equals, value = condition.partition("=")
        if not equals:
            raise UsageError(f"a condition of a pattern must be key=value (got {condition!r} in {text!r})")
        if key.strip() in allowed:
            message = f"a pattern must have each key once (got {key.strip()!r} twice in {text!r})"
            raise UsageError(f"{message}; write {key.strip()}=A|B for any of several values")
        allowed[key.strip()] = tuple(word.strip() for word in value.split("|"))
    return allowed
