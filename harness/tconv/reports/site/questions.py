"""The questions to each engine on the site, in one list: what can be used, and on what texts differ.

`describe` describes a call by a few words. A question is about the calls with some of these words. So the pages and
the script that looks for a reader's own call use the same list.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import yaml

from tconv.cases.patterns import topic_of
from tconv.dialects import DIALECTS, GEOMETRY_1, Absent, Open
from tconv.dialects.constraints import CONSTRAINTS, find_broken
from tconv.dialects.rules import QUESTIONS, WHERE
from tconv.vocabulary import AutoPad

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tconv.cases.case import Case

TEXTS = tuple(dialect for dialect in DIALECTS.values() if dialect is not GEOMETRY_1)
Words = Sequence[str]
Kind = Literal["use", "rule", "open"]

TABLES: dict[str, dict[str, Any]] = yaml.safe_load(
    files(__package__).joinpath("questions.yaml").read_text(encoding="utf-8")
)
"""The content of `questions.yaml`."""
FIELDS: Mapping[str, tuple[str, Mapping[str, str]]] = MappingProxyType(
    {name: (field["label"], field["values"]) for name, field in TABLES["fields"].items()}
)
"""The words for a call, each with a label and its possible values; for several axes the largest value counts."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question to every engine.

    Attributes:
        key: its permanent address below `questions/`.
        kind: what can be used, a rule on which texts differ, or what a text leaves open.
        title: a few words.
        asks: the question in a sentence.
        where: the values of `describe` for its calls; empty for what a text leaves open.
        instead: how to write the pads if an engine does not have it; empty if that does not help.
    """

    key: str
    kind: Kind
    title: str
    asks: str
    where: Mapping[str, Words]
    instead: str = ""

    def is_of(self, asked: Asked) -> bool:
        """Return whether a call belongs to it: by its words if it is valid, or by the constraint that it breaks."""
        if self.kind == "open":
            return self.key in asked.broken
        return asked.is_valid and all(asked.words[name] in values for name, values in self.where.items())


@dataclass(frozen=True, slots=True)
class Asked:
    """The words of a case on the site.

    Attributes:
        words: a value for each of `FIELDS`, and how the call is presented.
        broken: the constraints that it breaks.
        is_valid: whether it breaks no constraint on purpose.
    """

    words: Mapping[str, str]
    broken: frozenset[str]
    is_valid: bool


@cache
def list_questions() -> tuple[Question, ...]:
    """Return all questions: what can be used, then the rules on which texts differ, then what a text leaves open."""
    return tuple(_questions())


def _questions() -> Iterator[Question]:
    for key, use in TABLES["uses"].items():
        asks = f"Does it compute this as its text says: {use['title']}?"
        yield Question(key, "use", use["title"], asks, use["where"], use.get("instead", ""))
    for name in QUESTIONS:
        answers = {getattr(text.rules, name) for text in TEXTS}
        others = any(reading.change.question == name for text in TEXTS for reading in text.disputed)
        if len(answers) > 1 or others:
            title = WHERE[name][:1].upper() + WHERE[name][1:]
            asks = (type(next(iter(answers))).__doc__ or "").partition("\n")[0].rpartition(": ")[2]
            yield Question(
                name.replace("_", "-"), "rule", title, f"{title}: {asks[:1].lower()}{asks[1:]}", TABLES["rules"][name]
            )
    for name, constraint in CONSTRAINTS.items():
        # If the operator has no value at all, refusing is the only answer.
        if not constraint.needed and any(isinstance(text.constraints.get(name), Open) for text in TEXTS):
            yield Question(
                name, "open", constraint.says, f"Is a call answered if this does not hold: {constraint.says}?", {}
            )


def answers(question: Question) -> Mapping[str, Sequence[str]]:
    """Return the answers of the texts to a question, each in words with the names of its texts."""
    says: dict[str, list[str]] = defaultdict(list)
    for text in TEXTS:
        if question.kind == "open":
            answer = text.constraints.get(question.key)
            said = {Absent: "the call has a value", Open: "the text leaves it open"}
            says[said.get(type(answer), "the call is invalid")].append(text.name)
        elif question.kind == "rule":
            name = question.key.replace("-", "_")
            says[getattr(text.rules, name).says].append(text.name)
            for reading in text.disputed:
                if reading.change.question == name:
                    says[f"allowed too, {reading.name}: {reading.says}"].append(text.name)
    return says


def contradictions() -> Mapping[tuple[str, str], Sequence[str]]:
    """Return all disputed readings, other ambiguities, and constraints with conflicting clauses, with their texts."""
    texts: dict[tuple[str, str], list[str]] = defaultdict(list)
    for text in TEXTS:
        for reading in text.disputed:
            texts[reading.name, reading.says].append(text.name)
        for ambiguity in text.ambiguities:
            texts[ambiguity.about, ambiguity.decision].append(text.name)
        for name, answer in text.constraints.items():
            if isinstance(answer, Open) and " against " in answer.clause:
                texts[name, f"must this hold: {CONSTRAINTS[name].says}?"].append(text.name)
    return texts


def describe(case: Case) -> Asked:
    """Return the words of a case."""
    return Asked(_words(case), frozenset(_broken(case)), case.breaks is None)


def _broken(case: Case) -> Iterator[str]:
    if case.breaks is not None:
        yield case.breaks
    # Most texts have a default if a word is not written; it is left out on purpose only if the case says so.
    yield from (each.constraint for each in find_broken(case.signature) if not each.constraint.endswith("-given"))
    yield from (f"{name.partition('_')[0]}-given" for name in case.omit)
    if case.facts.get("output_empty") == "true":
        yield "output-not-empty"


def _words(case: Case) -> dict[str, str]:
    attributes, rank, kernel, facts = case.attributes, len(case.x.shape) - 2, case.w.shape[2:], case.facts
    strides, dilations = (attributes.per_axis(name, rank) for name in ("strides", "dilations"))
    begin, end, added = attributes.pads_begin or (), attributes.pads_end or (), any(attributes.output_padding or ())
    gap = any(s > (k - 1) * d + 1 for s, k, d in zip(strides, kernel, dilations, strict=False))
    words = {
        "mode": str(attributes.auto_pad or AutoPad.EXPLICIT),
        "size": "none" if attributes.output_shape is None else "given",
        "pads": "none" if not any((*begin, *end)) else "equal" if begin == end else "unequal",
        "stride": str(min(max(strides, default=1), 3)),
        "gap": "yes" if gap else "no",
        "dilation": str(min(max(dilations, default=1), 2)),
        "added": "below" if added else "none",
        "groups": {"multiplier": "depthwise"}.get(case.kind_of_group, case.kind_of_group),
        "axes": str(rank),
        "type": str(case.x.dtype),
        "graph": _graph(case),
        "shapes": case.shapes,
        "filter": case.filter_source,
        "values": "special" if topic_of(case.id) == "special-values" else "numbers",
    }
    if added and facts.get("output_padding_reaches_stride") == "true":
        words["added"] = "from"
    if facts.get("pads_begin_beyond_kernel") == "true":
        words["pads"] = "beyond"
    if attributes.output_shape is not None and facts.get("output_shape_beyond_reach") == "true":
        words["size"] = "beyond"
    return words


def _graph(case: Case) -> str:
    if case.quantisation is None and not case.context:
        return "alone"
    levels = map(str, (case.context.data, case.context.filter, case.context.end))
    return "quantised" if case.quantisation is not None or any("int8" in level for level in levels) else "float"
