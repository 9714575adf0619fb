"""Cases that nobody wrote, as hypothesis strategies: over all attributes, sizes and types, at times with one fault.

A user's own property tests take `cases` as any strategy; `tconv fuzz` takes `drawn`, the same for the same seed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

import hypothesis
from hypothesis import HealthCheck, Phase, assume
from hypothesis import strategies as st

from tconv.case import Cite
from tconv.corpus.building import ImpossibleCase, build
from tconv.dialects import DIALECTS, Absent
from tconv.expectation import Inexpressible, expectation, sees, writable

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


def drawn(seed: int, dialect: str, *, broken: bool = True) -> Iterator[Case]:
    """Yield cases that a dialect can say, without end, the same for the same seed.

    Args:
        seed: another one gives other cases.
        dialect: the dialect's name.
        broken: whether some cases break one constraint on purpose.
    """
    for number in count():
        for at, case in enumerate(_batch(seed, number, dialect, broken=broken)):
            yield replace(case, id=f"fuzz/{seed}-{number}-{at}")


def _batch(seed: int, number: int, dialect: str, *, broken: bool) -> list[Case]:
    found: dict[object, Case] = {}

    @hypothesis.seed((seed << 32) + number)
    @hypothesis.settings(
        max_examples=BATCH,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(cases(dialect, broken=broken))
    def collect(case: Case) -> None:
        found.setdefault(case.content, case)

    collect()
    return list(found.values())


@cache
def _faults(dialect_name: str) -> st.SearchStrategy[str]:
    return st.sampled_from(faults_of(DIALECTS[dialect_name]))


def faults_of(row: Dialect) -> list[str]:
    """Return the faults that a dialect minds and has words for."""
    minded = {name for name, answer in row.constraints.items() if not isinstance(answer, Absent)}
    return [name for name, fault in FAULTS.items() if name in minded and writable(fault.of, row)]


@st.composite
def cases(draw: Draw, dialect: str, *, broken: bool = True) -> Case:
    """Draw a case that a dialect can say.

    Args:
        draw: hypothesis's.
        dialect: the dialect's name.
        broken: whether it may break one constraint on purpose, of those that the dialect states or leaves open.
    """
    settings = _plain(draw)
    if broken and draw(_often(_MOST_BROKEN)):
        name = draw(_faults(dialect))
        settings |= {"breaks": name} | FAULTS[name].settings(draw, settings)
    try:
        case = build("drawn", settings, {}, cites=(Cite(dialect, "drawn by tconv fuzz, not by a clause"),))
    except ImpossibleCase:
        hypothesis.reject()
    expected = expectation(case, DIALECTS[dialect])
    assume(not isinstance(expected, Inexpressible))
    assume(case.breaks is None or sees(expected, case.breaks))
    return case


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


# One constraint broken: settings that break it beside those that were drawn.


@dataclass(frozen=True, slots=True)
class Fault:
    """A way to break one constraint.

    Attributes:
        of: the attribute or operand that is wrong; a dialect that has no word for it cannot have the fault.
        settings: draws what is to be changed of the settings.
    """

    of: str
    settings: Callable[[Draw, Settings], Settings]


def _rank(settings: Settings) -> int:
    return len(settings["spatial"])


def _misfit(draw: Draw, settings: Settings, low: int, high: int) -> list[int]:
    """Draw a list that is too short or too long."""
    rank = _rank(settings)
    length = draw(st.integers(0, rank + 2).filter(lambda length: length != rank))
    values: list[int] = draw(st.lists(st.integers(low, high), min_size=length, max_size=length))
    return values


def _with_one(draw: Draw, values: list[Any], entry: Any) -> list[Any]:  # noqa: ANN401 - an integer or a size's word
    at = draw(st.integers(0, len(values) - 1))
    return [*values[:at], entry, *values[at + 1 :]]


def _too_short_or_long(*names: str, low: int = 1, high: int = 3) -> Callable[[Draw, Settings], Settings]:
    def broken(draw: Draw, settings: Settings) -> Settings:
        value = _misfit(draw, settings, low, high)
        return dict.fromkeys(names, value)

    return broken


def _entry_below(name: str, least: int) -> Callable[[Draw, Settings], Settings]:
    def broken(draw: Draw, settings: Settings) -> Settings:
        values = settings.get(name) or [max(least, 1)] * _rank(settings)
        return {name: _with_one(draw, values, least - draw(st.sampled_from([1, 2, 3, 2**31])))}

    return broken


def _pads_negative(draw: Draw, settings: Settings) -> Settings:
    return _entry_below(draw(st.sampled_from(["pads_begin", "pads_end"])), 0)(draw, settings)


def _output_padding_large(draw: Draw, settings: Settings) -> Settings:
    ones = [1] * _rank(settings)
    larger = map(max, settings.get("strides", ones), settings.get("dilations", ones))
    return {"output_padding": [most + draw(st.integers(0, 2)) for most in larger]}


def _pads_beside_a_mode(draw: Draw, settings: Settings) -> Settings:
    mode = draw(st.sampled_from(["valid", "same_upper", "same_lower"]))
    name = draw(st.sampled_from(["pads_begin", "pads_end"]))
    return {"auto_pad": mode, name: draw(_axes(_rank(settings), 0, 2))}


def _output_size_negative(draw: Draw, settings: Settings) -> Settings:
    swallowed = draw(st.integers(40, 99))
    return {"auto_pad": None, "output_shape": None, "pads_begin": [swallowed] * _rank(settings)}


def _kernel_shape_other(draw: Draw, settings: Settings) -> Settings:
    entry = draw(st.integers(1, 9))
    return {"kernel_shape": _with_one(draw, settings["kernel"], entry)}


def _groups_not_positive(draw: Draw, settings: Settings) -> Settings:
    shape = [settings["channels"], settings["out_channels"], *settings["kernel"]]
    return {"groups": -draw(st.integers(0, 3)), "w": {"shape": shape}}


def _groups_not_dividing(draw: Draw, settings: Settings) -> Settings:
    channels = settings["channels"]
    return {"groups": draw(st.integers(2, 9).filter(lambda groups: channels % groups))}


def _filter_channels_other(draw: Draw, settings: Settings) -> Settings:
    return {"w": {"channels": draw(st.integers(1, 12).filter(lambda count: count != settings["channels"]))}}


def _filter_rank_other(draw: Draw, settings: Settings) -> Settings:
    shape = [settings["channels"], settings["out_channels"] // settings.get("groups", 1), *settings["kernel"]]
    return {"w": {"shape": [*shape, 1] if draw(st.booleans()) else shape[:-1]}}


def _bias_of_shape(ranks: Callable[[int], st.SearchStrategy[list[int]]]) -> Callable[[Draw, Settings], Settings]:
    def broken(draw: Draw, settings: Settings) -> Settings:
        return {"bias": True, "b": {"shape": draw(ranks(settings["out_channels"]))}}

    return broken


def _other_type(draw: Draw, settings: Settings) -> Settings:
    role = draw(st.sampled_from(["w", "b"]))
    dtype = draw(st.sampled_from(["f32", "f16", "bf16", "f64"]).filter(lambda one: one != settings["dtype"]))
    return {"bias": settings["bias"] or role == "b", role: {"dtype": dtype}}


def _word(name: str, *words: str) -> Callable[[Draw, Settings], Settings]:
    return lambda draw, _: {name: {"raw": draw(st.sampled_from(words))}}


def _empty(name: str) -> Callable[[Draw, Settings], Settings]:
    return lambda draw, settings: {name: _with_one(draw, settings[name], 0)}


FAULTS: dict[str, Fault] = {
    "strides-length": Fault("strides", _too_short_or_long("strides")),
    "dilations-length": Fault("dilations", _too_short_or_long("dilations")),
    "pads-length": Fault("pads_begin", _too_short_or_long("pads_begin", "pads_end", low=0)),
    "output-padding-length": Fault("output_padding", _too_short_or_long("output_padding", low=0, high=0)),
    "output-shape-length": Fault("output_shape", _too_short_or_long("output_shape", low=1, high=9)),
    "kernel-shape-length": Fault("kernel_shape", _too_short_or_long("kernel_shape")),
    "strides-positive": Fault("strides", _entry_below("strides", 1)),
    "dilations-positive": Fault("dilations", _entry_below("dilations", 1)),
    "pads-non-negative": Fault("pads_begin", _pads_negative),
    "output-padding-non-negative": Fault("output_padding", _entry_below("output_padding", 0)),
    "output-shape-non-negative": Fault(
        "output_shape",
        lambda draw, settings: {"output_shape": _with_one(draw, ["full"] * _rank(settings), -draw(st.integers(1, 9)))},
    ),
    "output-size-non-negative": Fault("pads_begin", _output_size_negative),
    "output-padding-below-stride-or-dilation": Fault("output_padding", _output_padding_large),
    "pads-without-auto-pad": Fault("auto_pad", _pads_beside_a_mode),
    "kernel-shape-matches": Fault("kernel_shape", _kernel_shape_other),
    "groups-positive": Fault("groups", _groups_not_positive),
    "channels-divisible": Fault("groups", _groups_not_dividing),
    "filter-channels-match": Fault("filter", _filter_channels_other),
    "filter-rank-matches": Fault("filter", _filter_rank_other),
    "bias-length": Fault(
        "bias", _bias_of_shape(lambda count: st.integers(0, 20).filter(lambda n: n != count).map(lambda n: [n]))
    ),
    "bias-rank": Fault(
        "bias", _bias_of_shape(lambda count: st.sampled_from([[], [1, count], [count, 1], [1, count, 1]]))
    ),
    "one-type": Fault("filter", _other_type),
    "auto-pad-known": Fault("auto_pad", _word("auto_pad", "SAME", "Same_Upper", "", "NONE")),
    "data-format-known": Fault("data_format", _word("data_format", "NCHW", "nxc", "XNC")),
    "filter-format-known": Fault("filter_format", _word("filter_format", "OIHW", "xoi", "IXO")),
    "kernel-not-empty": Fault("filter", _empty("kernel")),
    "spatial-not-empty": Fault("data", _empty("spatial")),
}
"""What breaks each constraint that a case can break whatever else it says, by the constraint's name."""
