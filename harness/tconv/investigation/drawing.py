"""Cases that nobody wrote, as hypothesis strategies: over all attributes, sizes and types, at times with one fault.

A user's own property tests take `cases` as any strategy; `tconv fuzz` takes `drawn`, the same for the same seed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

import hypothesis
from hypothesis import HealthCheck, Phase, assume
from hypothesis import strategies as st

from tconv.case import Cite
from tconv.corpus.building import ImpossibleCase, build
from tconv.dialects import DIALECTS, Stated
from tconv.expectation import Inexpressible, expectation, sees
from tconv.investigation.entropy import BACKEND, KEY
from tconv.investigation.faults import FAULTS, fault_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tconv.case import Case
    from tconv.dialects import Dialect

    Draw = Callable[[st.SearchStrategy[Any]], Any]
    Settings = dict[str, Any]

T = TypeVar("T")

BATCH = 256
"""Cases that are drawn by one run of hypothesis, each of them another."""
_LARGEST = {1: (7, 5), 2: (7, 5), 3: (5, 4), 4: (3, 3)}
"""The largest size of data and filter by rank: more axes, more elements."""
_FIRST_AXIS = 2
_MOST_BROKEN = 15
"""In a hundred cases."""


def drawn(seed: int, dialect: str, *, broken: bool = True, real: bool = False) -> Iterator[Case]:
    """Yield cases that a dialect can say, without end, the same for the same seed.

    Args:
        seed: another one gives other cases.
        dialect: the dialect's name.
        broken: whether some cases break one constraint on purpose.
        real: whether all operands are real numbers, and none integers.
    """
    for number in count():
        for at, case in enumerate(_batch(seed, number, dialect, broken=broken, real=real)):
            yield replace(case, id=f"fuzz/{seed}-{number}-{at}")


def _batch(seed: int, number: int, dialect: str, *, broken: bool, real: bool) -> list[Case]:
    found: dict[object, Case] = {}

    @hypothesis.settings(
        max_examples=BATCH,
        backend=BACKEND,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(cases(dialect, broken=broken, real=real))
    def collect(case: Case) -> None:
        found.setdefault(case.content, case)

    token = KEY.set((seed << 32) + number)
    try:
        collect()
    finally:
        KEY.reset(token)
    return list(found.values())


@st.composite
def cases(draw: Draw, dialect: str, *, broken: bool = True, real: bool = False) -> Case:
    """Draw a case that a dialect can say.

    Args:
        draw: hypothesis's.
        dialect: the dialect's name.
        broken: whether it may break one constraint on purpose, of those that the dialect states or leaves open.
        real: whether operands are real numbers, and never integers.
    """
    row = DIALECTS[dialect]
    settings = _sayable(_plain(draw), row)
    if real and settings["data"] == "integers":
        settings["data"] = "normal"
    if broken and draw(_often(_MOST_BROKEN)):
        name = draw(fault_of(dialect))
        settings |= {"breaks": name} | FAULTS[name].settings(draw, settings)
    try:
        case = build("drawn", settings, {}, cites=(Cite(dialect, "drawn by tconv fuzz, not by a clause"),))
    except ImpossibleCase:
        hypothesis.reject()
    expected = expectation(case, row)
    assume(not isinstance(expected, Inexpressible))
    assume(case.breaks is None or sees(expected, case.breaks))
    return case


def _sayable(settings: Settings, row: Dialect) -> Settings:
    """Return settings without what a text does not have at all; drawing again until it is not there takes long."""
    lacking = {name for name, answer in row.constraints.items() if isinstance(answer, Stated)}
    kept = {name: value for name, value in settings.items() if f"without-{name.replace('_', '-')}" not in lacking}
    if f"without-{settings['dtype']}" in lacking:
        kept["dtype"] = "f32"
    return kept


def _plain(draw: Draw) -> Settings:
    """Draw the settings of a case that breaks nothing on purpose; no tensor need have such sizes."""
    rank = draw(_weighted((1, 8), (2, 8), (3, 3), (4, 1)))
    return _sizes(draw, rank) | _lists(draw, rank) | _padding(draw, rank) | _presented(draw)


def _sizes(draw: Draw, rank: int) -> Settings:
    groups = draw(_weighted((1, 6), (2, 2), (3, 1), (4, 1)))
    size, kernel = _LARGEST[rank]
    sizes: Settings = {
        "batch": draw(_weighted((1, 12), (2, 6), (3, 2), (0, 1))),
        "channels": groups * draw(_within(1, 3)),
        "out_channels": groups * draw(_within(1, 3)),
        "spatial": draw(_axes(rank, 1, size)),
        "kernel": draw(_axes(rank, 1, kernel)),
    }
    if draw(_often(2)):
        sizes["spatial"][draw(_within(0, rank - 1))] = 0
    if groups > 1 or draw(_often(30)):
        sizes["groups"] = groups
    return sizes


def _lists(draw: Draw, rank: int) -> Settings:
    lists: Settings = {}
    if draw(_often(75)):
        lists["strides"] = draw(_axes(rank, 1, 4))
    if draw(_often(50)):
        lists["dilations"] = draw(_axes(rank, 1, 3))
    if draw(_often(30)):
        lists["output_padding"] = draw(_axes(rank, 0, 3))
    if draw(_often(25)):
        lists["kernel_shape"] = "kernel"
    return lists


def _padding(draw: Draw, rank: int) -> Settings:
    mode = draw(_weighted((None, 8), ("explicit", 2), ("valid", 2), ("same_upper", 3), ("same_lower", 3)))
    padding: Settings = {} if mode is None else {"auto_pad": mode}
    # Beside a mode most dialects cannot say pads.
    for name in ("pads_begin", "pads_end"):
        if draw(_often(60 if mode in {None, "explicit"} else 5)):
            padding[name] = draw(_axes(rank, 0, 4))
    if draw(_often(25)):
        padding["output_shape"] = [f"full{one:+}" if one else "full" for one in draw(_axes(rank, -3, 3))]
    return padding


def _presented(draw: Draw) -> Settings:
    formats = {
        "data_format": draw(_weighted((None, 5), ("NCX", 1), ("NXC", 4))),
        "filter_format": draw(_weighted((None, 6), ("IOX", 1), ("XOI", 2), ("GIOX", 1))),
    }
    return {name: value for name, value in formats.items() if value is not None} | {
        "bias": draw(_often(50)),
        "dtype": draw(_weighted(("f32", 15), ("f16", 4), ("f64", 1), ("bf16", 1))),
        "data": draw(_weighted(("integers", 15), ("normal", 4), ("wide", 1))),
        "seed": draw(_within(0, 999)),
        "shapes": draw(_weighted(("static", 3), ("symbolic", 1))),
        "filter_source": draw(_weighted(("initializer", 3), ("input", 1))),
    }


# A strategy is made once: making it costs more than drawing from it.


@cache
def _weighted(*weights: tuple[T, int]) -> st.SearchStrategy[T]:
    """Return what draws one as often as its weight says."""
    return st.sampled_from([one for one, weight in weights for _ in range(weight)])


@cache
def _within(low: int, high: int) -> st.SearchStrategy[int]:
    return st.integers(low, high)


@cache
def _often(percent: int) -> st.SearchStrategy[bool]:
    """Return what draws true so often in a hundred."""
    return st.integers(1, 100).map(lambda number: number > 100 - percent)


@cache
def _axes(rank: int, low: int, high: int) -> st.SearchStrategy[list[int]]:
    """Return what draws an integer of low..high for each axis, often the same one."""
    one = st.integers(low, high)
    return one.map(lambda value: [value] * rank) | st.tuples(*[one] * rank).map(list)
