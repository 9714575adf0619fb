"""Faults: changes of drawn settings that break a single constraint."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from tconv.dialects import Absent

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.dialects import Dialect
    from tconv.investigation.random_choices import Choices

    Settings = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Fault:
    """A way to break one constraint.

    Attributes:
        of: the wrong attribute or operand; the dialect must have a word for it.
        settings: draws the settings that replace others.
    """

    of: str
    settings: Callable[[Choices, Settings], Settings]


def _rank(settings: Settings) -> int:
    return len(settings["spatial"])


def _with_entry(choose: Choices, values: list[Any], entry: Any) -> list[Any]:  # noqa: ANN401 - an integer or a size's word
    axis = choose.within(0, len(values) - 1)
    return [*values[:axis], entry, *values[axis + 1 :]]


def _wrong_length(*names: str, low: int = 1, high: int = 3) -> Callable[[Choices, Settings], Settings]:
    def broken(choose: Choices, settings: Settings) -> Settings:
        rank = _rank(settings)
        length = choose.among([length for length in range(rank + 3) if length != rank])
        value = [choose.within(low, high) for _ in range(length)]
        return dict.fromkeys(names, value)

    return broken


def _entry_below(name: str, least: int) -> Callable[[Choices, Settings], Settings]:
    def broken(choose: Choices, settings: Settings) -> Settings:
        values = settings.get(name) or [max(least, 1)] * _rank(settings)
        return {name: _with_entry(choose, values, least - choose.among([1, 2, 3, 2**31]))}

    return broken


def _pads_negative(choose: Choices, settings: Settings) -> Settings:
    return _entry_below(choose.among(["pads_begin", "pads_end"]), 0)(choose, settings)


def _output_padding_large(choose: Choices, settings: Settings) -> Settings:
    ones = [1] * _rank(settings)
    larger = map(max, settings.get("strides", ones), settings.get("dilations", ones))
    return {"output_padding": [limit + choose.within(0, 2) for limit in larger]}


def _pads_beside_auto_pad(choose: Choices, settings: Settings) -> Settings:
    mode = choose.among(["valid", "same_upper", "same_lower"])
    name = choose.among(["pads_begin", "pads_end"])
    return {"auto_pad": mode, name: [choose.within(0, 2) for _ in range(_rank(settings))]}


def _output_size_negative(choose: Choices, settings: Settings) -> Settings:
    pad = choose.within(40, 99)
    return {"auto_pad": None, "output_shape": None, "pads_begin": [pad] * _rank(settings)}


def _kernel_shape_other(choose: Choices, settings: Settings) -> Settings:
    entry = choose.within(1, 9)
    return {"kernel_shape": _with_entry(choose, settings["kernel"], entry)}


def _groups_not_positive(choose: Choices, settings: Settings) -> Settings:
    shape = [settings["channels"], settings["out_channels"], *settings["kernel"]]
    return {"groups": -choose.within(0, 3), "w": {"shape": shape}}


def _groups_not_dividing(choose: Choices, settings: Settings) -> Settings:
    channels = settings["channels"]
    groups = choose.among([groups for groups in range(2, 10) if channels % groups])
    return {"groups": groups, "out_channels": groups * choose.within(1, 3)}


def _filter_channels_other(choose: Choices, settings: Settings) -> Settings:
    return {"w": {"channels": choose.among([count for count in range(1, 13) if count != settings["channels"]])}}


def _filter_rank_other(choose: Choices, settings: Settings) -> Settings:
    shape = [settings["channels"], settings["out_channels"] // settings.get("groups", 1), *settings["kernel"]]
    return {"w": {"shape": [*shape, 1] if choose.often(50) else shape[:-1]}}


def _bias_of_shape(shapes: Callable[[int], list[list[int]]]) -> Callable[[Choices, Settings], Settings]:
    def broken(choose: Choices, settings: Settings) -> Settings:
        return {"bias": True, "b": {"shape": choose.among(shapes(settings["out_channels"]))}}

    return broken


def _other_type(choose: Choices, settings: Settings) -> Settings:
    role = choose.among(["w", "b"])
    dtype = choose.among([dtype for dtype in ["f32", "f16", "bf16", "f64"] if dtype != settings["dtype"]])
    return {"bias": settings.get("bias", False) or role == "b", role: {"dtype": dtype}}


def _unknown_word(name: str, *words: str) -> Callable[[Choices, Settings], Settings]:
    return lambda choose, _: {name: {"raw": choose.among(words)}}


def _empty(name: str) -> Callable[[Choices, Settings], Settings]:
    return lambda choose, settings: {name: _with_entry(choose, settings[name], 0)}


FAULTS: dict[str, Fault] = {
    "strides-length": Fault("strides", _wrong_length("strides")),
    "dilations-length": Fault("dilations", _wrong_length("dilations")),
    "pads-length": Fault("pads_begin", _wrong_length("pads_begin", "pads_end", low=0)),
    "output-padding-length": Fault("output_padding", _wrong_length("output_padding", low=0, high=0)),
    "output-shape-length": Fault("output_shape", _wrong_length("output_shape", low=1, high=9)),
    "kernel-shape-length": Fault("kernel_shape", _wrong_length("kernel_shape")),
    "strides-positive": Fault("strides", _entry_below("strides", 1)),
    "dilations-positive": Fault("dilations", _entry_below("dilations", 1)),
    "pads-non-negative": Fault("pads_begin", _pads_negative),
    "output-padding-non-negative": Fault("output_padding", _entry_below("output_padding", 0)),
    "output-shape-non-negative": Fault(
        "output_shape",
        lambda choose, settings: {
            "output_shape": _with_entry(choose, ["full"] * _rank(settings), -choose.within(1, 9))
        },
    ),
    "output-size-non-negative": Fault("pads_begin", _output_size_negative),
    "output-padding-below-stride-or-dilation": Fault("output_padding", _output_padding_large),
    "pads-without-auto-pad": Fault("auto_pad", _pads_beside_auto_pad),
    "kernel-shape-matches": Fault("kernel_shape", _kernel_shape_other),
    "groups-positive": Fault("groups", _groups_not_positive),
    "channels-divisible": Fault("groups", _groups_not_dividing),
    "filter-channels-match": Fault("filter", _filter_channels_other),
    "filter-rank-matches": Fault("filter", _filter_rank_other),
    "bias-length": Fault("bias", _bias_of_shape(lambda count: [[n] for n in range(21) if n != count])),
    "bias-rank": Fault("bias", _bias_of_shape(lambda count: [[], [1, count], [count, 1], [1, count, 1]])),
    "one-type": Fault("filter", _other_type),
    "auto-pad-known": Fault("auto_pad", _unknown_word("auto_pad", "SAME", "Same_Upper", "", "NONE")),
    "data-format-known": Fault("data_format", _unknown_word("data_format", "NCHW", "nxc", "XNC")),
    "filter-format-known": Fault("filter_format", _unknown_word("filter_format", "OIHW", "xoi", "IXO")),
    "kernel-not-empty": Fault("filter", _empty("kernel")),
    "spatial-not-empty": Fault("data", _empty("spatial")),
}
"""The fault of each constraint that can be broken with any other settings, by the constraint's name."""


@cache
def faults_of(dialect: Dialect) -> tuple[str, ...]:
    """Return the constraints with a fault that a dialect states or leaves open, if it has the words for the fault."""
    stated_or_open = {name for name, answer in dialect.constraints.items() if not isinstance(answer, Absent)}
    return tuple(name for name, fault in FAULTS.items() if name in stated_or_open and dialect.has_word(fault.of))
