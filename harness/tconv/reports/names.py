"""The meaning of each name that a report prints: the entries of `tconv explain NAME`."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from tconv.diagnosis.misreadings import misreadings_in_context
from tconv.dialects import DIALECTS
from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.geometry import Geometry, resolve
from tconv.dialects.readings import AnswerOtherwise
from tconv.dialects.rules import QUESTIONS, WHERE
from tconv.gate.status import RULINGS
from tconv.reports.conditions import FACTS
from tconv.reports.notes import NOTE_MEANINGS
from tconv.reports.statuses import STATUSES
from tconv.vocabulary import Attributes, AutoPad, DType, Signature, TensorType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tconv.dialects.rules import Rules

TO_DO = MappingProxyType(
    {
        "agreed": "nothing: this is what the text says; if it failed in a run, earlier calls or chance decide",
        "disputed": "nothing, unless other cases contradict it; or pin it: tconv waivers pin RECORDS --waivers FILE",
        "inconclusive": "run the same case on integers, where zeros do not pass",
        "differed": "look at the cause: tconv explain CASE --backend B says what is computed instead",
        "imprecise": "keep sums in a wider type, or leave out the fast algorithm",
        "wrong-shape": "compare the size with tconv show CASE",
        "wrong-dtype": "return the type of the data",
        "refused-valid": "answer the call, or waive it: tconv waivers propose RECORDS --output FILE",
        "accepted-invalid": "refuse the call; the run is red for it only with --strict",
        "unsupported": "declare it: tconv waivers propose RECORDS --output FILE",
        "not-applicable": "ask in another dialect, which can say the case",
        "crashed": "answer the call or refuse it, in a process that lives on; tconv export CASE --issue reports it",
        "timed-out": "find out why, or allow more time with --timeout",
        "unstable": "look for memory that is not set, and for races",
        "backend-error": "correct the adapter, or what it calls: it must return Produced(array) or Refused(message)",
        "mixed-readings": "follow one reading for all calls of the question",
        "reading-changed": "follow the pinned reading again, or write the new pin: tconv waivers pin",
    }
)
"""What to do about each ruling."""
_EXAMPLES = MappingProxyType(
    {
        "agreed": "[1, 10, 2, 20] is expected, and came",
        "disputed": "the text's first reading gives 7 elements, another one that it allows gives 6, and 6 came",
        "inconclusive": "0.001 is expected, 0.002 is allowed, and 0.0005 came: 0 would pass too",
        "differed": "element [0,0,3] must be 3, and is 4",
        "imprecise": "an error of 2e-5 is allowed, 6e-5 came, as of a Winograd transform",
        "wrong-shape": "[1, 1, 6] is expected, and [1, 1, 8] came",
        "wrong-dtype": "float16 is expected, and float32 came",
        "refused-valid": "output_padding 1 with stride 1 and dilation 2 is valid, and is refused",
        "accepted-invalid": "a bias of 3 numbers for 4 channels is invalid, and an output came",
        "unsupported": "the backend says that it has no bfloat16",
        "not-applicable": "ONNX has no word for the layout XIO of a filter",
        "crashed": "the process ends with SIGSEGV",
        "timed-out": "no answer came within 10 s",
        "unstable": "the same call gives 3, and then 1.7e15",
        "backend-error": "forward() returns None in place of an array",
        "mixed-readings": "28 cases floor a negative padding, and 2 cases append it at the end",
        "reading-changed": "version 1 cropped at the end, and version 2 crops at the beginning",
    }
)
"""An example of each ruling."""


class Entry(NamedTuple):
    """The meaning of a name.

    Attributes:
        kind: the kind of name.
        name: the name.
        meaning: the meaning.
        example: an example with numbers; empty if there is none.
        to_do: what to do about it.
    """

    kind: str
    name: str
    meaning: str
    example: str
    to_do: str

    @property
    def lines(self) -> Iterator[str]:
        """The printed lines."""
        yield f"{self.name}  ({self.kind})"
        yield f"  {self.meaning}"
        if self.example:
            yield f"  for example: {self.example}"
        yield f"  what to do: {self.to_do}"


@cache
def entries() -> Mapping[str, tuple[Entry, ...]]:
    """Return the meanings of all names; a name may be of several kinds."""
    found: dict[str, dict[str, Entry]] = {}
    for each in _entries():
        # If several dialects have a reading, its example comes from the first in which a small call shows it.
        known = found.setdefault(each.name, {})
        if each.kind not in known or (each.example and not known[each.kind].example):
            known[each.kind] = each
    return MappingProxyType({name: tuple(of.values()) for name, of in found.items()})


def _entries() -> Iterator[Entry]:
    yield from _of_verdicts()
    yield from _of_texts()
    for name, fact in FACTS.items():
        values = ", ".join(f"{value}: {words}" for value, words in fact.values.items())
        meaning = f"a fact of a call: {fact.says.replace('{}', '...')}" + (f" ({values})" if values else "")
        yield Entry("fact", name, meaning, f"the pattern '**[{name}=...]' selects cases by it", "nothing")


def _of_verdicts() -> Iterator[Entry]:
    for name, kind in RULINGS.items():
        meaning = (kind.__doc__ or "").partition("\n")[0]
        yield Entry("verdict", name, meaning, _EXAMPLES[name], TO_DO[name])
    for status, look in STATUSES.items():
        to_do = "the run is red until it is gone, waived or declared" if look.is_red else "nothing"
        yield Entry("status", status.value, f"{look.meaning}: {look.total}", "", to_do)
    for name, meaning in NOTE_MEANINGS.items():
        yield Entry("note", name, meaning, "", "nothing, as a note makes nothing red")


def _of_texts() -> Iterator[Entry]:
    for question in QUESTIONS:
        of = type(getattr(next(iter(DIALECTS.values())).rules, question))
        answers = ", ".join(f"{answer} ({answer.says})" for answer in of)
        yield Entry("question", question, f"{WHERE[question]}: {answers}", "", "pin the answer that your runtime gives")
    for name, constraint in CONSTRAINTS.items():
        yield Entry("constraint", name, constraint.says, "", "refuse a call that breaks it, if the text states it")
        meaning = f"a refusal, as the call breaks a rule that the text leaves open: {constraint.says}"
        yield Entry("reading", f"{name}-refused", meaning, "", "nothing: the text allows it")
    for dialect in DIALECTS.values():
        for reading in dialect.disputed:
            example = _example(dialect.rules, reading.change)
            yield Entry("reading", reading.name, reading.says, example, "nothing: the text allows it; pin it")
        for misreading in misreadings_in_context(dialect):
            change = misreading.change
            example = _example(dialect.rules, change) if isinstance(change, AnswerOtherwise) else ""
            yield Entry("misreading", misreading.name, misreading.says, example, "correct it: no text allows this")


def _example(rules: Rules, change: AnswerOtherwise) -> str:
    """Return the smallest call with one axis whose output changes with another answer, and both outputs."""
    changed: dict[str, Any] = {change.question: change.answer}
    other = replace(rules, **changed)
    modes = (None, AutoPad.SAME_UPPER, AutoPad.SAME_LOWER, AutoPad.VALID)
    for x, k, s, op, more, mode in product((2, 3), (1, 2, 3), (1, 2, 3), (0, 1), (None, -1, 1, 3), modes):
        size = None if more is None else ((x - 1) * s + k + more,)
        attributes = Attributes(strides=(s,), output_padding=(op,) if op else None, output_shape=size, auto_pad=mode)
        data, taps = (TensorType((1, 1, of), DType.F32) for of in (x, k))
        here, there = (resolve(Signature(attributes, data, taps, None), of) for of in (rules, other))
        if op < s and here != there and size != (0,):
            written = {
                "strides": s,
                "output_padding": op or "",
                "output_shape": size[0] if size else "",
                "auto_pad": mode or "",
            }
            call = ", ".join(f"{name} {value}" for name, value in written.items() if value != "")
            return f"input {x}, kernel {k}, {call}: {_said(there)}, and by the first reading of the text {_said(here)}"
    return ""


def _said(result: object) -> str:
    if not isinstance(result, Geometry):
        return "a refusal"
    return f"{result.output[0]} elements with pads {result.pads_begin[0]} and {result.pads_end[0]}"
