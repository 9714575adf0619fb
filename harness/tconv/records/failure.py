"""What makes two failures alike: the verdict's kind, and an explanation in common or equal words without numbers.

What a runtime says is read by one rule: `sentence` is what a reader is shown of a message, `without_numbers` what two
messages have in common that say the same of two calls. The rule has limits. Two refusals that differ in nothing but
which attributes they list are one. Refusals of one reason are two if one lists several attributes after a colon, and
the other a single one: there it may be the reason. What is listed without values, such as names, stays.
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
"""A line with which begins what is below a sentence: calls that led to an error, their arguments, places in code."""
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
"""Characters of attributes in braces, or of operands and results, beyond which a reader is not shown them."""

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
"""Names with values, one after another; or a single one that goes on a list or is in parentheses."""
_COUNTER = re.compile(r"(?<=_)\d+\b|(?<!\d)%\w+")
"""What a runtime appends to the names of its nodes, and how a compiler counts values."""
_COUNTED = re.compile(r"\b([a-z_]{3,})(?<!int)(?<!float)(?<!complex)\d+\b", re.IGNORECASE)
"""A name that ends with a number, and is no type."""
_CONVERTED = re.compile(r"(?<=[XWBY])_(?:canonical|ncx)\b")
"""What the model of a call appends to the name of a tensor that it brings to another layout."""
_FOLDER = re.compile(r"(?<![\w.])(?:/[\w.+@~-]+)+/(?=[\w.+-])")
"""Where a file is, which another machine or process has elsewhere."""
_RANDOM = re.compile(r"\btmp\w{6,}|\b(?=[a-z]*\d)(?=\d*[a-z])[0-9a-f]{8,}\b")
"""A name that is made up for one process, and a digest."""
_SCALAR = re.compile(r"\bnp\.\w+\(([^()]*)\)")
"""How numpy writes a number of its own types, which stands in one list and not in another."""
_SIZES = re.compile(r"(?<!\w)(?:(?:\d+|\?)x)+(?=[a-z]+\d)")
"""The sizes of a tensor before its type, as MLIR writes them."""
_NUMBER = r"(?<![\w.])(?:nan|inf|\#(?!\.\w)|\?(?=[,\])])|0x[0-9a-fA-F]+|\d[\d.]*(?:e[-+]?\d+)?(?:x\d+)*)(?!\w)"
_NUMBERS = re.compile(rf"(?<![-+*(\[{{<,:/ ])(?:[-+*(\[{{<,:/ ]*{_NUMBER}[)\]}}>,]*)+")
_REPEATED = re.compile(r"(?<!\S)((?:[^\s#]+ ){1,3}#)(?: \1)+(?!\S)")
"""The same words before one number after another, as in a list of tensors."""


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


@lru_cache(maxsize=4096)
def sentence(message: str) -> str:
    """Return a runtime's own sentence of a message, in one line: what a reader is shown of it.

    Of several lines it begins with the first that names an error; below Python's calls, with the last one. It ends
    before the calls that led there, their arguments, and places in code. `...` stands for nodes of a graph, operations
    as a compiler prints them, and long lists of attributes in braces or of operands. If nothing is left, it is the
    whole message.
    """
    text = _own_words(message, "...").removeprefix("...")
    for listed in (_ATTRIBUTES, _SIGNATURE):
        text = listed.sub(lambda found: found[0] if len(found[0]) <= _LONG else "...", text)
    return one_line(text) or one_line(message)


@lru_cache(maxsize=4096)
def without_numbers(text: str) -> str:
    """Return a message without what varies from call to call, from process to process and from machine to machine.

    It is the runtime's own sentence with `#` for what `sentence` leaves out, every number, every list of numbers, and
    every list of attributes with their values. A single attribute within a sentence keeps its name; a number within a
    name stays. Digests, temporary names, folders, and what names are counted by are `#` too. A tensor of a call's model
    has one name in all layouts.
    """
    text = _SCALAR.sub(r"\1", _CONVERTED.sub("", _own_words(text, "#") or " ".join(text.split())))
    while _ATTRIBUTES.search(text):
        text = _ATTRIBUTES.sub("#", text)
    for varies in (_SIGNATURE, _PAIRS, _FOLDER, _RANDOM, _COUNTER):
        text = varies.sub("#", text)
    text = _NUMBERS.sub(" # ", _SIZES.sub("# ", _COUNTED.sub(r"\1#", text)))
    return _REPEATED.sub(r"\1", " ".join(text.split()))


def _own_words(message: str, mark: str) -> str:
    """Return what a message says before what it prints of calls, graphs and operations, for which a mark stands."""
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
