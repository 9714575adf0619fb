"""Why a pattern matches no case: the first part that no case has, and the nearest existing name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv.cases.patterns import parse, path_of
from tconv.nearest_word import nearest
from tconv.shown_texts import one_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from tconv.corpus.corpus import Corpus

_GLOB = frozenset("*?")
_ASKED = 64
"""Cases of a sweep whose facts are read, if a condition names a fact that is no axis."""
_MOST_EXAMPLES = 6


def explain_mismatch(corpus: Corpus, pattern: str) -> str:
    """Return why a pattern matches no case, as the end of a message; empty if nothing is near.

    Args:
        corpus: the cases.
        pattern: a pattern that matches no case.
    """
    parsed, path = parse(pattern), path_of(pattern).rstrip("/")
    unknown = next((key for key in parsed.conditions if key not in corpus.fact_names), None)
    if unknown is not None:
        return f"; {unknown!r} is no fact of any case{nearest(unknown, sorted(corpus.fact_names))}"
    paths = {*(path_of(case) for case in corpus.singles), *corpus.sweeps}
    matched = {case_path for case_path in paths if parsed.path.fullmatch(case_path)}
    if not matched:
        return ("" if set(path) & _GLOB else nearest(path, sorted(paths))) or _of_path(path, paths)
    for key, allowed in parsed.conditions.items():
        if not any(corpus.ids("exhaustive", [f"{path}[{key}={'|'.join(allowed)}]"])):
            return _of_value(key, allowed, sorted(set(_values(corpus, matched, key))))
    return ""


def _of_path(path: str, paths: Collection[str]) -> str:
    """Return the name nearest to the first segment of a path that no case has there; after `**` it may be anywhere."""
    split = [case_path.split("/") for case_path in paths]
    for number, word in enumerate(path.split("/")):
        here = {part for parts in split for part in (parts if "**" in path else parts[number : number + 1])}
        if word not in here and not set(word) & _GLOB:
            return nearest(word, sorted(here))
    return ""


def _of_value(key: str, allowed: Collection[str], values: Sequence[str]) -> str:
    """Return the value nearest to those of a condition that no case has; some examples if nothing is near."""
    has = one_line(f"; no case there has {key}={'|'.join(allowed)}")
    # Only words are compared: a number that looks similar is not what the user meant.
    words = (value for value in allowed if value.isidentifier())
    if near := next(filter(None, (nearest(word, values) for word in words)), ""):
        return has + near
    examples = sorted(values, key=lambda value: (len(value), value))[:_MOST_EXAMPLES]
    return f"{has}, but for example {', '.join(examples)}" if examples else has


def _values(corpus: Corpus, paths: Collection[str], key: str) -> Iterator[str]:
    """Yield values of a fact in the cases of these paths: all labels of an axis, or the facts of a sample."""
    for case in corpus.singles.values():
        if path_of(case.id) in paths and key in case.facts:
            yield case.facts[key]
    for path in corpus.sweeps.keys() & paths:
        sweep = corpus.sweeps[path]
        axis = next((axis for axis in sweep.axes if axis.name == key), None)
        if axis is not None:
            yield from axis.labels
            continue
        facts = (sweep.case(row).facts for row in sweep.sample(_ASKED).tolist())
        yield from (case_facts[key] for case_facts in facts if key in case_facts)
