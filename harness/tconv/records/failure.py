"""When two failures are alike: same kind of verdict, and a common explanation or the same words without numbers.

`sentence` is the part of a runtime's message that a reader sees. `without_numbers` is equal for two messages that say
the same about two calls. It has limits. Two refusals that differ only in the attributes that they list are alike.
Refusals with one reason differ if one lists several attributes after a colon and the other a single one, as this one
may be the reason. Names that are listed without values stay.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, assert_never

from tconv.backends.process_end import ERROR_LINE, reasons
from tconv.shown_texts import one_line
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from tconv.dialects.readings import Combination
    from tconv.records.record import Record

_WRAPPED = re.compile(r"[\w.]*\w(?:Error|Exception): ")
"""The type of an exception before a message that may name the error itself."""
_CALLS = re.compile(
    r"""
    ^\s+at\s | ^\s*(?: \#\d+\s | frame\ \#\d | \[bt\] | \d+:\s+0x            # frames
    | (?:stack\ ?|back)trace\b | traceback\b | invoked\ with\b               # what stands above frames, and arguments
    | (?:\S+:\ )?note:\s | [\^~][\s\^~]*$ ) | \(most\ recent\ call\ first\)  # more places of a compiler's
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""The first line after a sentence: calls that led to an error, their arguments, places in code."""
_NODE = re.compile(r"(?:\[\[)?\{\{.{,500}?\}\}(?:\]\])?")
"""A node of a graph, as TensorFlow writes it."""
_OPERATION = re.compile(r"(?:%[\w.#:]+(?:, %[\w.#:]+)* = |\"[\w.]+\"\(%).*")
"""An operation as MLIR prints it, up to the end of its line."""
_ATTRIBUTES = re.compile(r"<?\{[^{}]*[\w\"'] ?(?:=(?!=)|:(?!:))[^{}]*\}>?")
"""Names with values in braces: attributes, a structure of Rust, a message of protobuf, a dictionary."""
_NESTED = r"\((?:[^()]|\([^()]*\))*\)"
_SIGNATURE = re.compile(rf"(?:(?<= )[\w.:]+ )?{_NESTED} -> (?:{_NESTED}|[^\s,;]+)")
"""The operands and results of an operation, and the name of its node."""
_LONG = 40
"""Longer attributes in braces, and longer operands and results, are not shown to a reader."""

_VALUE = rf"""\[(?:[^\[\]]|\[[^\[\]]*\])*\] | {_NESTED} | "[^"]*" | '[^']*'"""
_PAIR = rf"""
    [A-Za-z_][\w.]* (?: \ ?=(?!=)\ ?(?: {_VALUE} | [^\s,;=()\[\]{{}}<>"']+ ) | :\ (?: {_VALUE} | -?\d[\w.]*(?!\w) ) )
"""
_PAIRS = re.compile(
    rf"""
    (?<![\w.]) {_PAIR} (?: [,;]?\ {_PAIR} )+ | (?<=[,;]\ ) {_PAIR} (?=$|[,;)\]]) | (?<=\() {_PAIR} (?=\))
    """,
    re.VERBOSE,
)
"""Names with values, one after another; or a single one after a comma or in parentheses."""
_COUNTER = re.compile(r"(?<=_)\d+\b|(?<!\d)%\w+")
"""Numbers at the end of nodes' names, and a compiler's numbers of values."""
_COUNTED = re.compile(r"\b([a-z_]{3,})(?<!int)(?<!float)(?<!complex)\d+\b", re.IGNORECASE)
"""A name that ends with a number, and is no type."""
_CONVERTED = re.compile(r"(?<=[XWBY])_(?:canonical|ncx)\b")
"""The ending of a tensor's name after a change of layout in the model of a call."""
_FOLDER = re.compile(r"(?<![\w.])(?:/[\w.+@~-]+)+/(?=[\w.+-])")
"""The folder of a file, which differs between machines and processes."""
_RANDOM = re.compile(r"\btmp\w{6,}|\b(?=[a-z]*\d)(?=\d*[a-z])[0-9a-f]{8,}\b")
"""A temporary name, or a digest."""
_SCALAR = re.compile(r"\bnp\.\w+\(([^()]*)\)")
"""A number of a numpy type, as `repr` writes it."""
_SIZES = re.compile(r"(?<!\w)(?:(?:\d+|\?)x)+(?=[a-z]+\d)")
"""The sizes of a tensor before its type, as MLIR writes them."""
_NUMBER = r"(?<![\w.])(?:nan|inf|\#(?!\.\w)|\?(?=[,\])])|0x[0-9a-fA-F]+|\d[\d.]*(?:e[-+]?\d+)?(?:x\d+)*)(?!\w)"
_NUMBERS = re.compile(rf"(?<![-+*(\[{{<,:/ ])(?:[-+*(\[{{<,:/ ]*{_NUMBER}[)\]}}>,]*)+")
_REPEATED = re.compile(r"(?<!\S)((?:[^\s#]+ ){1,3}#)(?: \1)+(?!\S)")
"""The same words before one number after another, as in a list of tensors."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The features by which two failures are compared.

    Attributes:
        kind: the kind of the verdict.
        explained: misreadings, each of which gives the output; empty without a diagnosis.
        words: the words of the verdict without numbers; empty if it has only numbers.
    """

    kind: str
    explained: tuple[Combination, ...]
    words: str

    def alike(self, other: Failure | None) -> bool:
        """Return whether another failure is alike: same kind, and a common explanation; without one, same words."""
        if other is None or self.kind != other.kind:
            return False
        if self.explained:
            return not set(self.explained).isdisjoint(other.explained)
        return self.words == other.words


def failure(
    record: Record, verdict: ver.Verdict | None = None, explained: tuple[Combination, ...] | None = None
) -> Failure | None:
    """Return the failure that a record shows; None for agreed, inconclusive and not applicable.

    A disputed verdict is one too, as two runs may differ in it. If an answer depends on earlier calls, its values are
    not compared.

    Args:
        record: the record.
        verdict: the verdict; None for that of the record.
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
            # An exit code stays: it distinguishes crashes.
            end = " ".join([cause, *map(without_numbers, reasons(stderr)[:1])])
            return Failure(verdict.kind, explained, end)
        case ver.Disputed():
            words = " ".join(filter(None, (" or ".join(verdict.choices), verdict.message)))
        case ver.Differed() | ver.Imprecise() | ver.WrongShape() | ver.TimedOut():
            words = ""
        case _:
            assert_never(verdict)
    return Failure(verdict.kind, explained, without_numbers(words))


@lru_cache(maxsize=4096)
def sentence(message: str) -> str:
    """Return the sentence of a runtime's message that a reader sees, in one line.

    It begins with the first line that names an error; after a traceback of Python, with the last such line. It ends
    before the calls that led there, their arguments, and places in code. `...` replaces nodes of a graph, operations as
    a compiler prints them, and long lists of attributes in braces or of operands. If nothing is left, it is the whole
    message.
    """
    text = _own_words(message, "...").removeprefix("...")
    for listed in (_ATTRIBUTES, _SIGNATURE):
        text = listed.sub(lambda found: found[0] if len(found[0]) <= _LONG else "...", text)
    return one_line(text) or one_line(message)


@lru_cache(maxsize=4096)
def without_numbers(text: str) -> str:
    """Return a message without the parts that vary between calls, processes and machines.

    It is the runtime's sentence. `#` replaces the parts that `sentence` leaves out, numbers, lists of numbers, lists of
    attributes with values, digests, temporary names, folders, and numbers at the end of names. A single attribute
    within a sentence keeps its name. A tensor of a call's model has one name in all layouts.
    """
    text = _SCALAR.sub(r"\1", _CONVERTED.sub("", _own_words(text, "#") or " ".join(text.split())))
    while _ATTRIBUTES.search(text):
        text = _ATTRIBUTES.sub("#", text)
    for varies in (_SIGNATURE, _PAIRS, _FOLDER, _RANDOM, _COUNTER):
        text = varies.sub("#", text)
    text = _NUMBERS.sub(" # ", _SIZES.sub("# ", _COUNTED.sub(r"\1#", text)))
    return _REPEATED.sub(r"\1", " ".join(text.split()))


def _own_words(message: str, mark: str) -> str:
    """Return the beginning of a message, up to the calls that it prints; a mark replaces nodes and operations."""
    lines = message.splitlines()
    errors = [number for number, line in enumerate(lines) if lines[1:] and ERROR_LINE.search(line)]
    if len(errors) > 1 and _WRAPPED.match(lines[errors[0]]):
        del errors[0]
    called = any(line.lstrip().startswith("Traceback (most recent call last)") for line in lines)
    start = errors[-1 if called else 0] if errors else 0
    own = takewhile(lambda line: not _CALLS.search(line), lines[start:])
    words = " ".join(_OPERATION.sub(mark, _NODE.sub(f" {mark} ", line)) for line in own).split()
    words = [mark, *words] if start and words else words
    return " ".join(word for before, word in pairwise(["", *words]) if not before == word == mark)
