"""A sweep from its model in a case file: axes with their labels, and skipped combinations."""

from __future__ import annotations

import re
from functools import partial
from math import comb, prod
from typing import TYPE_CHECKING, Any

from tconv.cases.context import PREFIX
from tconv.cases.patterns import label
from tconv.corpus.case_file import LEVELS, LISTED, MOST_SWEEPS, merge_settings, unwrap
from tconv.corpus.covering import Cover
from tconv.corpus.sweep import Axis, Skipped, Sweep
from tconv.corpus.tiers import STRENGTH
from tconv.documents import place_error
from tconv.errors import make_all
from tconv.nearest_word import nearest

if TYPE_CHECKING:
    from collections import Counter

    from tconv.cases.case import Cite
    from tconv.corpus import case_file
    from tconv.corpus.case_file import Settings
    from tconv.documents import Document
    from tconv.vocabulary import Tier

LARGEST_SWEEP = 100_000
"""Combinations of a sweep; more are refused before any is made."""
LARGEST_EXHAUSTIVE = 10_000_000
"""Combinations of a sweep of the exhaustive tier, which are never in memory together."""
MOST_OF_CORPUS = {
    "sweeps": MOST_SWEEPS,
    "combinations": 200_000,
    "combinations of the exhaustive tier": 20_000_000,
    "quadruples of labels": 50_000_000,
}
"""What all sweeps of a corpus may have together. In a second, `tconv check` lints about a thousand combinations, and
a tier's rows are chosen from a million quadruples."""
MOST_AXES = 32
"""An array of numpy may have at most 64 dimensions."""


def read_sweep(
    model: case_file.Sweep,
    path: str,
    base: Settings,
    cites: tuple[Cite, ...],
    document: Document,
    index: int,
    spent: Counter[str],
) -> Sweep:
    """Return the sweep of a file's model, and add its size to what the sweeps of the corpus have so far.

    Raises:
        FileError: an axis or a skip is wrong, no case is left, or the sweep or the corpus is too large.
    """
    place = ("sweeps", index)
    if (count := len(model.axes)) > MOST_AXES:
        message = f"a sweep must have at most {MOST_AXES} axes (got {count}); split it"
        raise place_error(document, (*place, "axes"), message, key=True)
    makers = [partial(_axis, name, values, document, (*place, "axes", name)) for name, values in model.axes.items()]
    axes = tuple(make_all(makers))
    cover = None if model.cover is None else _cover(model.cover, axes, document, (*place, "cover"))
    if too_large := _add_size(axes, cover, model.tier, spent):
        raise place_error(document, (*place, "axes"), too_large, key=True)
    skips = [
        partial(_skip, skip, axes, document, (*place, "skip", number, "when")) for number, skip in enumerate(model.skip)
    ]
    layer = merge_settings(base.written(), model.with_.written())
    skipped = tuple(make_all(skips))
    sweep = Sweep(f"{path}/{model.name}", model.about, cites, axes, skipped, layer, model.tier, cover, document, place)
    if cover is None and next(sweep.blocks(), None) is None:
        raise place_error(document, (*place, "skip"), "a sweep must have a case left (got none); skip less", key=True)
    return sweep


def _cover(model: case_file.Cover, axes: tuple[Axis, ...], document: Document, place: tuple[str | int, ...]) -> Cover:
    """Return which tuples the few rows of a sweep must have."""
    known = [axis.name for axis in axes]
    for number, name in enumerate(model.threes):
        if name not in known:
            message = f"must be an axis of the sweep (got {name!r}){nearest(name, known)}"
            raise place_error(document, (*place, "threes", number), message)
    levels = frozenset(number for number, name in enumerate(known) if name.startswith(PREFIX))
    return Cover(tuple(sorted(map(known.index, model.threes))), levels, model.levels)


def _add_size(axes: tuple[Axis, ...], cover: Cover | None, tier: Tier | None, spent: Counter[str]) -> str | None:
    """Add the size of a sweep to what the sweeps of the corpus have; return the error's text if it is too large."""
    exhaustive = tier == "exhaustive"
    rows = 0 if cover else prod(len(axis.labels) for axis in axes)
    if rows > (most := LARGEST_EXHAUSTIVE if exhaustive else LARGEST_SWEEP):
        return f"a sweep must have at most {most} combinations (got {rows}); split it"
    spent["sweeps"] += 1
    spent["combinations of the exhaustive tier" if exhaustive else "combinations"] += rows
    spent["quadruples of labels"] += rows * comb(len(axes), STRENGTH["gate"]) if tier is None else 0
    for what, most in MOST_OF_CORPUS.items():
        if spent[what] > most:
            return (
                f"the sweeps of a corpus must have at most {most} {what} (got {spent[what]} with this one); "
                "leave axes or labels out, or split the corpus"
            )
    return None


def _axis(name: str, values: list[Any] | dict[str, Settings], document: Document, place: tuple[str | int, ...]) -> Axis:
    if isinstance(values, dict):
        if not _NAME.fullmatch(name):
            message = f"an axis must have a name of letters, digits, '_', '.', '+' and '-' (got {name!r}); rename it"
            raise place_error(document, place, message, key=True)
        return Axis(name, tuple(values), tuple(settings.written() for settings in values.values()))
    if name in LEVELS:
        axis = name.removeprefix(PREFIX)
        return Axis(name, tuple(values), tuple({"context": {axis: value}} for value in values))
    if name not in LISTED:
        raise place_error(
            document,
            place,
            f"an axis with a list must be an attribute or a size (got {name!r}){nearest(name, sorted(LISTED))}"
            "; give a mapping of labels to settings if it is neither",
            key=True,
        )
    labels = tuple(label(unwrap(value)) for value in values)
    seen: set[str] = set()
    for number, text in enumerate(labels):
        if text in seen:
            raise place_error(document, (*place, number), f"the values of an axis must differ (got {text!r} again)")
        if not _LABEL.fullmatch(text):
            message = f"an axis must have values that an id can hold (got {text!r}); give a mapping of labels instead"
            raise place_error(document, (*place, number), message)
        seen.add(text)
    return Axis(name, labels, tuple({name: value} for value in values))


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
_LABEL = re.compile(r"[^\s\x00-\x1f\x7f\[\]{},=|]+")
"""The letters that may stand in an id, a pattern and a line of output."""


def _skip(skip: case_file.Skip, axes: tuple[Axis, ...], document: Document, place: tuple[str | int, ...]) -> Skipped:
    names = [axis.name for axis in axes]
    when: dict[int, frozenset[int]] = {}
    for name, value in skip.when.items():
        if name not in names:
            message = f"must be an axis of the sweep (got {name!r}){nearest(name, names)}"
            raise place_error(document, (*place, name), message, key=True)
        labels = axes[names.index(name)].labels
        texts = [label(entry) for entry in (value if isinstance(value, list) else [value])]
        for text in texts:
            if text not in labels:
                message = f"must be one of {', '.join(labels)} (got {text!r}){nearest(text, labels)}"
                raise place_error(document, (*place, name), message)
        when[names.index(name)] = frozenset(map(labels.index, texts))
    return Skipped(when, skip.because)
