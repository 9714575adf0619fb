"""The clauses of a text that decide a case, for a report about it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import onnx

from tconv.dialects.readings import branches
from tconv.expectation.expected import Refuse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.expectation.problem import Problem


def clauses(problem: Problem) -> Iterator[str]:
    """Yield the citations of the case that concern it, and the clauses of its constraint, rules and attributes.

    A smaller case made from another one keeps the citations of that one, but not all of its attributes.
    """
    cited = [f"cited by the case, of {dialect}: {clause}" for dialect, clause in _cites(problem)]
    yield from cited
    if isinstance(problem.expectation, Refuse):
        broken = problem.expectation.violation
        yield f"{broken.constraint}: {broken.clause}; {broken.attribute} {broken.must} (got {broken.got})"
        return
    if problem.case.breaks:
        yield f"{problem.case.breaks}: {problem.dialect.constraints[problem.case.breaks].clause}"
    readings = problem.dialect.every_reading()
    answers = next(branches(problem.signature, problem.dialect.rules, readings)).answers
    cites = problem.dialect.cites
    of_rules = [f"{name} is {answer} ({answer.formula}): {cites[name]}" for name, answer in answers.items()]
    yield from of_rules
    yield from _descriptions(problem, {word for text in (*cited, *of_rules) for word in _spoken_of(problem, text)})


def _cites(problem: Problem) -> list[tuple[str, str]]:
    """Return the citations of the dialect, or of its family if it has none, about attributes that the case writes."""
    family = problem.dialect.name.partition("/")[0]
    cites = [cite for cite in problem.case.cites if cite.dialect == problem.dialect.name]
    # The clauses of another version of the operator apply too, unless a rule differs.
    cites = cites or [cite for cite in problem.case.cites if cite.dialect.startswith(f"{family}/")]
    spoken = [(cite, _spoken_of(problem, cite.clause)) for cite in cites]
    return [
        (cite.dialect, cite.clause)
        for cite, words in spoken
        if not words or not words.isdisjoint(problem.call.attributes)
    ]


def _spoken_of(problem: Problem, clause: str) -> set[str]:
    """Return the attributes that a clause mentions outside of formulas, in the dialect's words."""
    words = {word for word in problem.dialect.spelling.attributes.values() if isinstance(word, str) and word}
    return {word for word in words if re.search(rf"\b{re.escape(word)}s?\b(?!\[)", clause)}


def _descriptions(problem: Problem, described: set[str]) -> Iterator[str]:
    """Yield ONNX's first sentence on each attribute that the case writes, and on the bias; nothing for other texts."""
    if problem.dialect.opset is None:
        return
    schema = onnx.defs.get_schema("ConvTranspose", problem.dialect.opset)
    for word in problem.call.attributes:
        if word not in described and word in schema.attributes:
            yield f"attribute {word}: {_first_sentence(schema.attributes[word].description)!r}"
    named = {tensor.name for tensor in problem.call.inputs}
    for tensor in schema.inputs[2:]:
        if tensor.name in named:
            yield f"input {tensor.name}: {_first_sentence(tensor.description)!r}"


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=\.)\s", " ".join(text.split()), maxsplit=1)[0]
