"""The scalars of the core schema of YAML 1.2, section 10.3: the value of a text without quotes."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

Scalar: TypeAlias = str | int | float | bool | None


class Kind(NamedTuple):
    """A tag of the schema: the pattern of its texts, and the function from such a text to its value."""

    pattern: re.Pattern[str]
    value: Callable[[str], Scalar]


def _integer(text: str) -> int:
    return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))


def _number(text: str) -> float:
    return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))


_INTEGER = "[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"
_NUMBER = (
    r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"
    r"|[-+]?\.(inf|Inf|INF)"
    r"|\.(nan|NaN|NAN)"
)

# A text without tag and quotes is of the first kind whose pattern it matches.
KINDS: Final = {
    "null": Kind(re.compile("null|Null|NULL|~|"), lambda _: None),
    "bool": Kind(re.compile("true|True|TRUE|false|False|FALSE"), lambda text: text[0] in "tT"),
    "int": Kind(re.compile(_INTEGER), _integer),
    "float": Kind(re.compile(_NUMBER), _number),
    "str": Kind(re.compile("(?s:.*)"), str),
}


# The texts of a large file are few; each is matched by up to five patterns.
@lru_cache(maxsize=4096)
def kind_of(text: str) -> str:
    """Return the name of the kind of a text without tag and quotes."""
    return next(name for name, kind in KINDS.items() if kind.pattern.fullmatch(text))
