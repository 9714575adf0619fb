"""Which sizes cases have, alone and in pairs: kernels change at vector widths; and which combinations of attributes.

A size counts if a case with it would show that one product is lost: a case that is judged exactly, or by a bound that
is below a product of average size in half of the elements that have products. Of eight attributes the whole product is
promised, in each dialect.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, get_args

import numpy as np

from tconv.cases.case import KindOfGroup
from tconv.dialects import DIALECTS
from tconv.dialects.geometry import reach
from tconv.expectation.bound import bound_errors
from tconv.expectation.expected import NotApplicable, can_express, expect
from tconv.expectation.problem import Problem
from tconv.expectation.sums import sums
from tconv.vocabulary import NEUTRAL, AutoPad, DataFormat, DType, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tconv.cases.case import Case
    from tconv.dialects import Dialect

Label = tuple[str, str]
"""A size by its name, such as `kernel W`, and its value in words."""

_CHANNELS = (*range(1, 10), 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65)
KINDS: tuple[KindOfGroup, ...] = get_args(KindOfGroup)
AXES = "WHD"
"""The last spatial axis, the one before it, and the one before that."""
_BESIDE_AXES: dict[str, tuple[Any, ...]] = {
    "dtype": tuple(DType),
    "kind": KINDS,
    "path": tuple(f"{dtype} {kind}" for dtype in DType for kind in KINDS),
    "rank": (1, 2, 3),
    "data_format": (DataFormat.NCX, DataFormat.NXC),
    "filter_format": (FilterFormat.IOX, FilterFormat.XOI),
    "bias": ("no", "yes"),
    "channels": _CHANNELS,
    "outputs": _CHANNELS,
    "groups": (1, 2, 3, 4, 5, 8, 16),
    "single_channel_groups": _CHANNELS[1:],
    "batch": (1, 2, 3, 4, 7, 8, 9, 16),
}
_OF_AXES: dict[str, tuple[Any, ...]] = {
    "kernel": (*range(1, 10), 11),
    "stride": tuple(range(1, 9)),
    "dilation": tuple(range(1, 6)),
    "output": (31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257),
    "begin": ("0", "below K", "K", "K+s", "K+2s", "K+3s"),
    "end": ("0", "below K", "K", "K+s", "K+2s", "K+3s"),
    "sides": ("<", "=", ">"),
}
_VALUES = _BESIDE_AXES | {f"{name} {axis}": values for axis in AXES for name, values in _OF_AXES.items()}
SIZES: dict[str, tuple[str, ...]] = {name: tuple(map(str, values)) for name, values in _VALUES.items()}
"""The values that a corpus must have of each size.

`channels` and `outputs` are those of a group, `single_channel_groups` counts the groups
of one channel. `path` is the type and the kind of group. `begin` and `end` are the pads of an axis beside
kernel K and stride s, each up to the next word; `sides` compares both.
"""

COMBINED: dict[str, tuple[object, ...]] = {
    "auto_pad": tuple(AutoPad),
    "output_shape": ("none", "full", "less", "more"),
    "kind of group": KINDS,
    "data_format": (DataFormat.NCX, DataFormat.NXC),
    "filter_format": (FilterFormat.IOX, FilterFormat.XOI),
    "rank": (1, 2, 3),
    "bias": (False, True),
    "output_padding": (False, True),
}
"""The values of each attribute; output_shape is compared with the size that the taps reach, on every axis."""
Combination: TypeAlias = tuple[object, ...]


class SizeCoverage(NamedTuple):
    """What a tier has of the sizes.

    Attributes:
        possible: how many sizes and pairs of sizes a case can have.
        missing: those that no case has that counts.
    """

    possible: int
    missing: tuple[frozenset[Label], ...]


def find_sizes(case: Case) -> dict[str, str]:
    """Return the sizes of a case that are among `SIZES`, by name. The case must break no constraint."""
    groups, (channels, outputs) = case.attributes.groups or 1, case.w.shape[:2]
    inputs = channels // max(groups, 1)
    found: dict[str, Any] = {
        "dtype": case.x.dtype,
        "kind": case.kind_of_group,
        "path": f"{case.x.dtype} {case.kind_of_group}",
        "rank": len(case.x.shape) - 2,
        "data_format": case.attributes.data_format or DataFormat.NCX,
        "filter_format": case.attributes.filter_format or FilterFormat.IOX,
        "bias": "no" if case.b is None else "yes",
        "channels": inputs,
        "outputs": outputs,
        "groups": groups,
        "batch": case.x.shape[0],
    }
    if groups > 1 and inputs == 1:
        found["single_channel_groups"] = groups
    for axis, values in zip(AXES, _of_axes(case), strict=False):
        found |= {f"{name} {axis}": value for name, value in values.items()}
    return {name: str(value) for name, value in found.items() if str(value) in SIZES[name]}


def _of_axes(case: Case) -> Iterator[dict[str, Any]]:
    """Yield the sizes of each axis, the last one first."""
    rank, attributes = len(case.x.shape) - 2, case.attributes
    explicit = attributes.auto_pad in {None, AutoPad.EXPLICIT} and attributes.output_shape is None
    lists = (attributes.per_axis(name, rank) for name in NEUTRAL)
    axes = list(zip(case.x.shape[2:], case.w.shape[2:], *lists, strict=True))
    for x, k, s, d, begin, end, op in reversed(axes):
        yield {"kernel": k, "stride": s, "dilation": d} | (
            {
                "output": reach(x, k, s, d) + op - begin - end,
                "begin": _pad(begin, k, s),
                "end": _pad(end, k, s),
                "sides": "<" if begin < end else "=" if begin == end else ">",
            }
            if explicit
            else {}
        )


def _pad(pad: int, k: int, s: int) -> str:
    if pad < k:
        return "below K" if pad else "0"
    steps = (pad - k) // s
    words = ("K", "K+s", "K+2s")
    return words[steps] if steps < len(words) else "K+3s" if pad == k + len(words) * s else ""


def is_possible(one: Label, other: Label) -> bool:
    """Return whether a case can have both sizes."""
    sizes = dict((one, other))
    rank, kind = int(sizes.get("rank", len(AXES))), sizes.get("kind", sizes.get("path", "").rpartition(" ")[2])
    if (
        len(sizes) == 1
        or len(sizes.keys() & {"dtype", "kind", "path"}) > 1
        or any(AXES.find(name.partition(" ")[2]) >= rank for name in sizes)
    ):
        return False
    if "single_channel_groups" in sizes and (sizes.get("channels", "1") != "1" or "groups" in sizes):
        return False
    (first, axis), (second, other_axis) = (name.split(" ") if " " in name else (name, "") for name in sizes)
    return (not kind or _is_of_kind(kind, sizes)) and (
        not axis or axis != other_axis or {(first, one[1]), (second, other[1])} not in _CONTRADICTIONS
    )


_CONTRADICTIONS = (
    {("kernel", "1"), ("begin", "below K")},
    {("kernel", "1"), ("end", "below K")},
    {("begin", "0"), ("sides", ">")},
    {("end", "0"), ("sides", "<")},
)
"""Sizes of one axis that no case has together."""


def _is_of_kind(kind: str, sizes: Mapping[str, str]) -> bool:
    grouped, single = kind != "dense", kind in {"depthwise", "multiplier"}
    if ("groups" in sizes and (sizes["groups"] != "1") != grouped) or ("single_channel_groups" in sizes and not single):
        return False
    if "channels" in sizes and grouped and (sizes["channels"] == "1") != single:
        return False
    return not (single and "outputs" in sizes and (sizes["outputs"] == "1") != (kind == "depthwise"))


def possible() -> Iterator[frozenset[Label]]:
    """Yield the sizes, and the pairs of sizes, that a case can have."""
    labels = [(name, value) for name, values in SIZES.items() for value in values]
    yield from (frozenset({label}) for label in labels)
    yield from (frozenset(pair) for pair in combinations(labels, 2) if pair[0][0] != pair[1][0] and is_possible(*pair))


def measure_sizes(cases: Iterable[Case]) -> SizeCoverage:
    """Return which sizes, and pairs of sizes, some case has and counts."""
    wanted = list(possible())
    missing = set(wanted)
    for case in cases:
        labels = find_sizes(case).items() if case.breaks is None else ()
        found = {frozenset({label}) for label in labels} | {frozenset(pair) for pair in combinations(labels, 2)}
        if not found.isdisjoint(missing) and _would_show_a_lost_product(case):
            missing -= found
    return SizeCoverage(len(wanted), tuple(sizes for sizes in wanted if sizes in missing))


def _would_show_a_lost_product(case: Case) -> bool:
    problems = (Problem(case, dialect) for dialect in DIALECTS.values())
    problem = next((problem for problem in problems if problem.values is not None), None)
    if problem is None or problem.values is None:
        return False
    geometry, truth = problem.values.primary.geometry, problem.truth
    if truth.exact(geometry):
        # Each product counts: it is enough that one of any image, to any output of a group, reaches the output.
        x, w = np.abs(truth.operands["x"]), np.abs(truth.operands["w"])
        few = x.max(axis=0, keepdims=True, initial=0.0), w.max(axis=1, keepdims=True, initial=0.0)
        return bool(sums(*few, None, geometry).any())
    terms = truth.compute_terms(geometry)
    has_products = terms.magnitude > (0 if terms.bias is None else np.abs(terms.bias))
    shows = has_products & (bound_errors(terms, truth.dtype).allowed * terms.count < terms.magnitude)
    return bool(has_products.any() and 2 * shows.sum() >= has_products.sum())


class ProductCoverage(NamedTuple):
    """The combinations of attributes that a tier has in a dialect.

    Attributes:
        dialect_name: the dialect's name.
        said: how many of them a case has that the dialect can say.
        unsaid: how many of them the dialect cannot say, by the constraint that the first case breaks.
        absent: those that no case has.
    """

    dialect_name: str
    said: int
    unsaid: Mapping[str, int]
    absent: tuple[Combination, ...]


def measure_products(cases: Iterable[Case], dialects: Iterable[Dialect]) -> list[ProductCoverage]:
    """Return what cases have of the product of `COMBINED`, in each of some dialects."""
    found: dict[Combination, list[Case]] = defaultdict(list)
    for case in cases:
        if case.breaks is None:
            found[_combination(case)].append(case)
    return [_in_dialect(dialect, found) for dialect in dialects]


def _in_dialect(dialect: Dialect, found: dict[Combination, list[Case]]) -> ProductCoverage:
    said = 0
    unsaid: Counter[str] = Counter()
    absent = []
    for wanted in product(*COMBINED.values()):
        cases = found.get(wanted, [])
        if any(can_express(case, dialect) for case in cases):
            said += 1
        elif cases:
            refused = expect(cases[0], dialect)
            assert isinstance(refused, NotApplicable)  # noqa: S101 - no dialect that can say it
            unsaid[refused.violation.constraint] += 1
        else:
            absent.append(wanted)
    return ProductCoverage(dialect.name, said, unsaid, tuple(absent))


def _combination(case: Case) -> Combination:
    """Return what a case has of `COMBINED`."""
    attributes = case.attributes
    return (
        attributes.auto_pad or AutoPad.EXPLICIT,
        _output_shape(case),
        case.kind_of_group,
        attributes.data_format or DataFormat.NCX,
        attributes.filter_format or FilterFormat.IOX,
        len(case.x.shape) - 2,
        case.b is not None,
        attributes.output_padding is not None,
    )


def _output_shape(case: Case) -> str:
    attributes, rank = case.attributes, len(case.x.shape) - 2
    if attributes.output_shape is None:
        return "none"
    lists = (attributes.per_axis(name, rank) for name in ("strides", "dilations"))
    full = [reach(*axis) for axis in zip(case.x.shape[2:], case.w.shape[2:], *lists, strict=False)]
    beyond = {(size > most) - (size < most) for size, most in zip(attributes.output_shape, full, strict=False)}
    return {0: "full", -1: "less", 1: "more"}[beyond.pop()] if len(beyond) == 1 else "mixed"
