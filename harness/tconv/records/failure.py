"""What makes two failures alike: the verdict's kind, and an explanation in common or equal words without numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from tconv.backends.process_end import reasons
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from tconv.dialects.readings import Combination
    from tconv.records.record import Record

_COUNTER = re.compile(r"(?<=\w_)\d+\b")
"""What a runtime appends to the names of its nodes."""
_CONVERTED = re.compile(r"(?<=[XWBY])_(?:canonical|ncx)\b")
"""What the model of a call appends to the name of a tensor that it brings to another layout."""
_FOLDER = re.compile(r"(?<![\w.])(?:/[\w.+@~-]+)+/(?=[\w.+-])")
"""Where a file is, which another machine or process has elsewhere."""
_RANDOM = re.compile(r"\btmp\w{6,}|\b(?=[a-z]*\d)(?=\d*[a-z])[0-9a-f]{8,}\b")
"""A name that is made up for one process, and a digest."""
_SCALAR = re.compile(r"\bnp\.\w+\(([^()]*)\)")
"""How numpy writes a number of its own types, which stands in one list and not in another."""
_NUMBER = r"(?<![\w.])(?:nan|inf|0x[0-9a-fA-F]+|\d[\d.]*(?:e[-+]?\d+)?(?:x\d+)*)(?!\w)"
_NUMBERS = re.compile(rf"(?:[-+*(\[{{<,:/ ]*{_NUMBER}[)\]}}>,]*)+")


@dataclass(frozen=True, slots=True)
class Failure:
    """What is compared of two failures.

    Attributes:
        kind: the verdict's.
        explained: misreadings that give the output, any of which suffices; none where it was not diagnosed.
        words: the words of the verdict without numbers; empty where it has only numbers.
    """

    kind: str
    explained: tuple[Combination, ...]
    words: str

    def alike(self, other: Failure | None) -> bool:
        """Return whether another failure is of the same kind, with an explanation in common, or else the same words."""
        if other is None or self.kind != other.kind:
            return False
        if self.explained:
            return not set(self.explained).isdisjoint(other.explained)
        return self.words == other.words


def failure(
    record: Record, verdict: ver.Verdict | None = None, explained: tuple[Combination, ...] | None = None
) -> Failure | None:
    """Return the failure that a record shows; None for agreed, inconclusive and not applicable.

    A disputed verdict is one too: two runs may differ in it. Where an answer depends on earlier
    calls, its values are not compared.

    Args:
        record: the record.
        verdict: what it is judged as; None for its own verdict.
        explained: the misreadings that give its output; None for those of the record.
    """
    verdict = verdict or record.verdict
    explained = record.diagnosis if explained is None else explained
    if record.alone is not None and record.varies:
        return Failure(verdict.kind, (), f"after other calls, and {record.alone.kind} alone")
    match verdict:
        case ver.Agreed() | ver.Inconclusive() | ver.NotApplicable():
            return None
        case ver.RefusedValid(words) | ver.BackendError(words) | ver.Unsupported(words) | ver.AcceptedInvalid(words):
            pass
        case ver.WrongDtype(_, words) | ver.Unstable(words):
            pass
        case ver.Crashed(cause, stderr):
            # An exit code is no number that varies: it tells one end from another.
            end = " ".join([cause, *map(without_numbers, reasons(stderr)[:1])])
            return Failure(verdict.kind, explained, end)
        case ver.Disputed():
            words = " ".join(filter(None, (" or ".join(verdict.choices), verdict.message)))
        case ver.Differed() | ver.Imprecise() | ver.WrongShape() | ver.TimedOut():
            words = ""
        case _:
            assert_never(verdict)
    return Failure(verdict.kind, explained, without_numbers(words))


def without_numbers(text: str) -> str:
    """Return a text with `#` for every number and every list of numbers, but not for numbers within names.

    Names that vary from process to process are `#` too: digests, temporary names, folders, what nodes are counted by. A
    tensor of a call's model has one name in all layouts.
    """
    text = _CONVERTED.sub("", _SCALAR.sub(r"\1", text))
    for varies in (_FOLDER, _RANDOM, _COUNTER):
        text = varies.sub("#", text)
    return " ".join(_NUMBERS.sub(" # ", text).split())
