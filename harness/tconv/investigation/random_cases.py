"""Random cases with all attributes, sizes and types, some of them with one fault."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from tconv.cases import context
from tconv.cases.case import Cite
from tconv.corpus.building import ImpossibleCase, build
from tconv.dialects import NoWord
from tconv.expectation.expected import NotApplicable, expect, finds_broken
from tconv.investigation.faults import FAULTS, faults_of
from tconv.investigation.random_choices import Seeded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.investigation.random_choices import Choices

    Settings = dict[str, Any]

_LARGEST = {1: (7, 5), 2: (7, 5), 3: (5, 4), 4: (3, 3)}
"""The largest size of data and filter by rank: a higher rank has more elements."""
_BROKEN_PERCENT = 15
"""The percentage of cases with a fault, if faults are allowed."""
_LEVEL_PERCENT = 35
"""The percentage of levels of a context that are not neutral: about three of nine axes."""
_BESIDE_QUANTA = ("values", "scales")
"""The axes that may vary if quanta are types of the operator itself."""


def drawn(seed: int, dialect: Dialect, *, broken: bool = True, contexts: bool = False) -> Iterator[Case]:
    """Yield cases that a dialect can express, without end; the same seed gives the same cases.

    Args:
        seed: the seed.
        dialect: the dialect.
        broken: whether some cases break one constraint on purpose.
        contexts: whether the operator has other operations around it; then no case has a fault.
    """
    for number in count():
        choose = Seeded(seed, number)
        case = draw_in_context(choose, dialect) if contexts else draw_case(choose, dialect, broken=broken)
        if case is not None:
            yield replace(case, id=f"fuzz/{seed}-{number}")


def draw_case(choose: Choices, dialect: Dialect, *, broken: bool = True) -> Case | None:
    """Return the case that the choices give; None if no such case is possible, or if the dialect cannot express it.

    Args:
        choose: makes the choices.
        dialect: the dialect.
        broken: whether it may break one constraint on purpose that the dialect states or leaves open.
    """
    settings = _expressible(_settings(choose), dialect)
    if broken and choose.often(_BROKEN_PERCENT):
        name = choose.among(faults_of(dialect))
        settings |= {"breaks": name} | FAULTS[name].settings(choose, settings)
    return _built(settings, dialect)


def draw_in_context(choose: Choices, dialect: Dialect) -> Case | None:
    """Return the case that the choices give, with a level of each axis of a context; None as for `draw_case`."""
    settings = _expressible(_settings(choose), dialect) | {"dtype": "f32", "data": "integers"}
    if not dialect.quantised:
        settings |= {"data_format": "NCX", "filter_format": "IOX"}
    hints = get_type_hints(context.Context)
    axes = _BESIDE_QUANTA if dialect.quantised else context.AXES
    if "output_shape" not in settings or "output_shape" not in dialect.spelling.inputs:
        axes = tuple(axis for axis in axes if axis != "sizes")
    levels = {axis: choose.among(get_args(hints[axis])[1:]) for axis in axes if choose.often(_LEVEL_PERCENT)}
    if dialect.quantised:
        levels |= {axis: choose.among(tuple(of)) for axis, of in choose.among(dialect.quantised).items()}
    return _built(settings | {"context": levels}, dialect)


def _built(settings: Settings, dialect: Dialect) -> Case | None:
    try:
        case = build("drawn", settings, cites=(Cite(dialect.name, "drawn by tconv fuzz, not by a clause"),))
    except ImpossibleCase:
        return None
    expected = expect(case, dialect)
    if isinstance(expected, NotApplicable) or not (case.breaks is None or finds_broken(expected, case.breaks)):
        return None
    return case


def _expressible(settings: Settings, dialect: Dialect) -> Settings:
    """Return the settings without attributes and types that the text lacks: with them few cases could be expressed."""
    spelling = dialect.spelling
    words: dict[str, object] = {**spelling.attributes, "bias": spelling.inputs["b"]}
    possible = {name: value for name, value in settings.items() if not isinstance(words.get(name), NoWord)}
    if settings["dtype"] not in spelling.types:
        possible["dtype"] = "f32"
    return possible


def _settings(choose: Choices) -> Settings:
    """Draw the settings of a case that breaks nothing on purpose; such a case may be impossible."""
    rank = choose.weighted((1, 8), (2, 8), (3, 3), (4, 1))
    return _sizes(choose, rank) | _lists(choose, rank) | _padding(choose, rank) | _operands(choose)


def _sizes(choose: Choices, rank: int) -> Settings:
    groups = choose.weighted((1, 6), (2, 2), (3, 1), (4, 1))
    size, kernel = _LARGEST[rank]
    sizes: Settings = {
        "batch": choose.weighted((1, 12), (2, 6), (3, 2), (0, 1)),
        "channels": groups * choose.within(1, 3),
        "out_channels": groups * choose.within(1, 3),
        "spatial": choose.axes(rank, 1, size),
        "kernel": choose.axes(rank, 1, kernel),
    }
    if choose.often(2):
        sizes["spatial"][choose.within(0, rank - 1)] = 0
    if groups > 1 or choose.often(30):
        sizes["groups"] = groups
    return sizes


def _lists(choose: Choices, rank: int) -> Settings:
    lists: Settings = {}
    if choose.often(75):
        lists["strides"] = choose.axes(rank, 1, 4)
    if choose.often(50):
        lists["dilations"] = choose.axes(rank, 1, 3)
    if choose.often(30):
        lists["output_padding"] = choose.axes(rank, 0, 3)
    if choose.often(25):
        lists["kernel_shape"] = "kernel"
    return lists


def _padding(choose: Choices, rank: int) -> Settings:
    mode = choose.weighted((None, 8), ("explicit", 2), ("valid", 2), ("same_upper", 3), ("same_lower", 3))
    padding: Settings = {} if mode is None else {"auto_pad": mode}
    # Most dialects forbid pads together with a padding mode.
    for name in ("pads_begin", "pads_end"):
        if choose.often(60 if mode in {None, "explicit"} else 5):
            padding[name] = choose.axes(rank, 0, 4)
    if choose.often(25):
        padding["output_shape"] = [f"full{more:+}" if more else "full" for more in choose.axes(rank, -3, 3)]
    return padding


def _operands(choose: Choices) -> Settings:
    formats = {
        "data_format": choose.weighted((None, 5), ("NCX", 1), ("NXC", 4)),
        "filter_format": choose.weighted((None, 6), ("IOX", 1), ("XOI", 2), ("GIOX", 1)),
    }
    return {name: value for name, value in formats.items() if value is not None} | {
        "bias": choose.often(50),
        "dtype": choose.weighted(("f32", 15), ("f16", 4), ("f64", 1), ("bf16", 1)),
        "data": choose.weighted(("integers", 15), ("normal", 4), ("wide", 1)),
        "seed": choose.within(0, 999),
        "shapes": choose.weighted(("static", 3), ("symbolic", 1)),
        "filter_source": choose.weighted(("initializer", 3), ("input", 1)),
    }
