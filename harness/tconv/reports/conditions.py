"""The condition of a cause in words, for terminal, page and `tconv explain`.

A condition is a list of terms of `evidence.facts` that hold together. The words of a term mean exactly the same as the
term.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tconv.reports.words import FACTS, NUMBERS, OWN_WORDS, TERMS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SIGNS = {">=": "at least", "<": "less than", ">": "more than", "=": ""}
_COMPARED = re.compile(r" (>=|<|>|=) (-?\d+|[a-z_]+)(?= on an axis$|$)")


def in_words(condition: Sequence[str]) -> str:
    """Return the terms of a condition in words."""
    return listed([*clauses(condition)])


def listed(sentences: Sequence[str]) -> str:
    """Return sentences that hold together as one."""
    *most, last = sentences or [""]
    return f"{', '.join(most)}, and {last}" if len(most) > 1 else " and ".join([*most, last])


def clauses(condition: Sequence[str]) -> Iterator[str]:
    """Yield the terms of a condition, each as a sentence; terms that exclude values of one fact are one sentence."""
    excluded: dict[str, list[str]] = {}
    for term in condition:
        name, unequal, value = term.partition("!=")
        if unequal and name in FACTS:
            excluded.setdefault(name, []).append(value)
    for term in condition:
        name, unequal, _ = term.partition("!=")
        if not (unequal and name in FACTS):
            yield _term(term)
        elif values := excluded.pop(name, []):
            yield _none_of(name, values)


def _term(term: str) -> str:
    """Return one term in words."""
    if term in TERMS:
        return TERMS[term]
    name, equal, value = term.partition("=")
    if equal and (fact := FACTS.get(name)) is not None:
        if term in OWN_WORDS:
            return OWN_WORDS[term][0]
        if "{}" not in fact.says:
            return fact.says if value == "true" else fact.says_not
        return fact.says.format(fact.values.get(value, value))
    for number, words in NUMBERS.items():
        if term.startswith(f"{number} "):
            said = f"{words}{_COMPARED.sub(_compared, term.removeprefix(number))}"
            # Most calls have no third-last axis, so the condition is more than its comparison.
            of_it = said.replace("the third-last axis", "the third-last one")
            return said if of_it == said else f"there are at least three spatial axes, and {of_it}"
    return term


def _compared(found: re.Match[str]) -> str:
    sign, other = found.groups()
    return " ".join(filter(None, (" is", _SIGNS[sign], NUMBERS.get(other, other))))


def _none_of(name: str, values: Sequence[str]) -> str:
    """Return the sentence that a fact has none of some values."""
    fact = FACTS[name]
    words = [fact.values.get(value, value) for value in values]
    own = [OWN_WORDS.get(f"{name}={value}") for value in values]
    if len(words) > 1 and fact.says_not.endswith(" not {}") and not any(own):
        *most, last = words
        return fact.says_not.removesuffix("not {}") + f"neither {', '.join(most)} nor {last}"
    return " and ".join(of[1] if of else fact.says_not.format(word) for of, word in zip(own, words, strict=True))
