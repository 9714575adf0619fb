"""The facts of a call in words: one table for the conditions of causes and for `tconv explain`.

A condition is a list of terms of `evidence.facts` that hold together. The words of a term mean exactly the same as the
term.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from tconv.cases.context import PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

TYPES = MappingProxyType({"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"})
"""Element types in the words of users."""


class Fact(NamedTuple):
    """A fact of a call whose value is a word.

    Attributes:
        says: the sentence that it has a value, with `{}` for the value; for `true` and `false` the sentence for `true`.
        says_not: the sentence that it does not have the value.
        values: the meanings of its values, if their own words are not enough.
    """

    says: str
    says_not: str
    values: Mapping[str, str] = MappingProxyType({})


def _is(subject: str, values: Mapping[str, str] = MappingProxyType({}), verb: str = "is") -> Fact:
    return Fact(f"{subject} {verb} {{}}", f"{subject} {verb} not {{}}", values)


_RECIPES = {
    "integers": "integers",
    "sparse": "only -1, 0 and 1",
    "normal": "normally distributed",
    "wide": "of very different magnitudes",
    "wide-full": "of very different magnitudes, with all bits",
    "all-bits": "numbers that use all bits of the type",
    "zeros": "zeros",
    "ones": "ones",
    "impulse": "zeros with a single 1",
    "nan": "integers with NaN",
    "infinity": "integers with infinities",
    "negative-zero": "integers with -0",
    "special": "integers with NaN, infinities and -0",
    "subnormal": "subnormal",
    "values": "literal values of the case file",
}
LEVELS = MappingProxyType(
    {
        "data": "data as {}",
        "filter": "its filter as {}",
        "bias": "its bias as {}",
        "before": "{} before the operator",
        "arithmetic": "{} after the operator",
        "activation": "{} as activation",
        "use": "{} as a use of the output",
        "end": "its output as {}",
        "values": "{} values",
        "scales": "{} scales",
        "sizes": "{} sizes",
    }
)
"""The meaning of a level in a graph, for each axis of a context."""
_ONE, _SEVERAL = (
    ("pads_begin", "output_padding", "output_shape", "kernel_shape", "groups", "auto_pad"),
    ("strides", "dilations"),
)
FACTS: Mapping[str, Fact] = MappingProxyType(
    {
        "dtype": _is("the type", TYPES),
        "group": _is(
            "the filter",
            {
                "depthwise": "depthwise with one output for each channel",
                "multiplier": "depthwise with several outputs for each channel",
            },
        ),
        "rank": _is("the number of spatial axes"),
        "auto_pad": _is("auto_pad", {"same_*": "same_upper or same_lower"}),
        "bias": Fact("there is a bias", "there is no bias"),
        "data": _is("the data", _RECIPES, "are"),
        "filter_data": _is("the filter's values", _RECIPES, "are"),
        "data_format": _is("the data's layout"),
        "filter_format": _is("the filter's layout"),
        "shapes": Fact(
            "the model declares {}",
            "the model does not declare {}",
            {"static": "all sizes", "symbolic": "symbols for sizes", "unranked": "no shapes"},
        ),
        "data_source": _is("the data", {"initializer": "a constant of the model", "input": "fed at the run"}, "are"),
        "filter_source": _is("the filter", {"initializer": "a constant of the model", "input": "fed at the run"}),
        "output_shape_source": _is(
            "output_shape", {"initializer": "a constant of the model", "input": "fed at the run"}
        ),
        "breaks": Fact("the call breaks {}", "the constraint that the call breaks is not {}"),
        **{f"{name}_given": Fact(f"{name} is given", f"{name} is not given") for name in _ONE},
        **{f"{name}_given": Fact(f"{name} are given", f"{name} are not given") for name in _SEVERAL},
        "empty": Fact(
            "only {} is empty",
            "the empty dimension is not {} alone",
            {
                "batch": "the batch",
                "channels": "the channel dimension",
                "spatial": "a spatial size of the data",
                "kernel": "a spatial size of the filter",
            },
        ),
        "output_empty": Fact("output_shape or pads leave no output", "output_shape and pads leave an output"),
        "output_shape_below_spatial": Fact(
            "output_shape is smaller than the input on an axis", "output_shape is not smaller than the input"
        ),
        "output_shape_beyond_reach": Fact(
            "output_shape is larger than the output without pads, on an axis",
            "output_shape is not larger than the output without pads",
        ),
        "output_shape_beyond_reach_by_stride": Fact(
            "output_shape is a stride or more larger than the output without pads and output_padding, on an axis",
            "output_shape is not a stride or more larger than the output without pads and output_padding",
        ),
        "output_padding_reaches_stride": Fact(
            "an output_padding that is given is at least the stride",
            "no output_padding is given that is at least the stride",
        ),
        "output_padding_positive": Fact("output_padding is positive on an axis", "output_padding is not positive"),
        "pads_begin_beyond_kernel": Fact(
            "pads_begin is more than (kernel - 1) * dilation on an axis",
            "pads_begin is at most (kernel - 1) * dilation",
        ),
        "spelling": _is("the spelling", {"page": "that of the text", "library": "that of the library"}),
        **{
            f"{PREFIX}{axis}": Fact(f"the graph has {words}", f"the graph does not have {words}", {"none": "nothing"})
            for axis, words in LEVELS.items()
        },
    }
)
"""The sentences for each fact whose value is a word."""
_OWN_WORDS = {
    ("empty", "none"): ("no dimension of an operand is empty", "a dimension of an operand is empty"),
    ("group", "dense"): ("groups is 1", "groups is not 1"),
    ("group", "grouped"): ("the filter is grouped, but not depthwise", "the filter is dense or depthwise"),
}
"""Values with sentences of their own: for a fact that has the value, and for one that does not."""
NUMBERS: Mapping[str, str] = MappingProxyType(
    {
        "channels / groups": "the number of input channels of a group",
        "out_channels / groups": "the number of output channels of a group",
        "batch": "the batch size",
        "channels": "the number of input channels",
        "out_channels": "the number of output channels",
        "groups": "groups",
        "spatial": "the input size",
        "kernel": "the kernel size",
        "strides": "the stride",
        "dilations": "the dilation",
        "pads_begin": "pads_begin",
        "pads_end": "pads_end",
        "output_padding": "output_padding",
        "output": "the output size",
        "total padding": "the total padding",
    }
)
"""The meaning of each number of a call; if a name begins another one, the longer comes first."""
_SPECIAL = {
    "channels / groups = out_channels / groups": "a group has as many output channels as input channels",
    "channels / groups != out_channels / groups": "a group has not as many output channels as input channels",
    "(kernel - 1) * dilations < strides on an axis": "(kernel - 1) * dilation is less than the stride on an axis",
    "(kernel - 1) * dilations >= strides on an axis": "(kernel - 1) * dilation is at least the stride on an axis",
    "kernel is no multiple of strides on an axis": "the kernel size is no multiple of the stride on an axis",
    "kernel is a multiple of strides on every axis": "the kernel size is a multiple of the stride on every axis",
    "strides and dilations share a divisor on an axis": "stride and dilation have a common divisor on an axis",
    "pads_begin != pads_end on an axis": "pads_begin and pads_end differ on an axis",
    "pads_begin = pads_end on every axis": "pads_begin and pads_end are equal on every axis",
}
_SIGNS = {">=": "at least", "<": "less than", ">": "more than", "=": ""}
_COMPARED = re.compile(r" (>=|<|>|=) (-?\d+|[a-z_]+)(?= on an axis$|$)")


def in_words(condition: Sequence[str]) -> str:
    """Return the terms of a condition in words."""
    *most, last = [*_clauses(condition)] or [""]
    if len(most) > 1:
        return f"{', '.join(most)}, and {last}"
    return " and ".join([*most, last])


def _clauses(condition: Sequence[str]) -> Iterator[str]:
    excluded: dict[str, list[str]] = {}
    for term in condition:
        name, unequal, value = term.partition("!=")
        if unequal and name in FACTS:
            excluded.setdefault(name, []).append(value)
    for term in condition:
        name, unequal, _ = term.partition("!=")
        if not (unequal and name in FACTS):
            yield _term(term)
        elif values := excluded.pop(name, []):
            yield _none_of(name, values)


def _term(term: str) -> str:
    """Return one term in words."""
    if term in _SPECIAL:
        return _SPECIAL[term]
    name, equal, value = term.partition("=")
    if equal and (fact := FACTS.get(name)) is not None:
        if (name, value) in _OWN_WORDS:
            return _OWN_WORDS[name, value][0]
        if "{}" not in fact.says:
            return fact.says if value == "true" else fact.says_not
        return fact.says.format(fact.values.get(value, value))
    for number, words in NUMBERS.items():
        if term.startswith(f"{number} "):
            return f"{words}{_COMPARED.sub(_compared, term.removeprefix(number))}"
    return term


def _compared(found: re.Match[str]) -> str:
    sign, other = found.groups()
    return " ".join(filter(None, (" is", _SIGNS[sign], NUMBERS.get(other, other))))


def _none_of(name: str, values: Sequence[str]) -> str:
    """Return the sentence that a fact has none of some values."""
    fact = FACTS[name]
    words = [fact.values.get(value, value) for value in values]
    if len(words) == 1 or not fact.says_not.endswith(" not {}") or any((name, value) in _OWN_WORDS for value in values):
        return " and ".join(
            _OWN_WORDS.get((name, value), ("", fact.says_not.format(fact.values.get(value, value))))[1]
            for value in values
        )
    *most, last = words
    return fact.says_not.removesuffix("not {}") + f"neither {', '.join(most)} nor {last}"
