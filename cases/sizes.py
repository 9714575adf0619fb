"""Write cases/sizes/sizes.yaml: rows with the sizes at which a kernel's code changes, alone and in pairs.

    python cases/sizes.py

A covering array is built row by row: some random rows with one missing pair are compared, and the one with the most
missing pairs is taken. Source: Cohen, Dalal, Fredman and Patton, The AETG system, IEEE Transactions on Software
Engineering 23, 1997. Libraries build rows from values that do not depend on each other. Here the size of an output
follows from six values, and a row must be cheap.
"""

from __future__ import annotations

import sys
from collections import Counter
from hashlib import blake2b
from itertools import combinations, starmap
from math import prod
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from tconv.cases.case import KindOfGroup
from tconv.cases.operands import EXACT_BITS
from tconv.corpus.building import ImpossibleCase, build
from tconv.dialects.geometry import reach
from tconv.vocabulary import NEUTRAL, AutoPad, DataFormat, DType, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tconv.cases.case import Case

Label = tuple[str, str]
"""A size by its name, such as `kernel W`, and its value in words."""

_CHANNELS = (*range(1, 10), 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65)
KINDS: tuple[KindOfGroup, ...] = get_args(KindOfGroup)
AXES = "WHD"
"""The last spatial axis, the one before it, and the one before that."""
_OF_CALLS: dict[str, tuple[Any, ...]] = {
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
_VALUES = _OF_CALLS | {f"{name} {axis}": values for axis in AXES for name, values in _OF_AXES.items()}
SIZES: dict[str, tuple[str, ...]] = {name: tuple(map(str, values)) for name, values in _VALUES.items()}
"""The values that a corpus must have of each size.

`channels` and `outputs` are those of a group. `single_channel_groups` is the number of groups, if each has one channel.
`path` is the type and the kind of group. `begin` and `end` compare the pads of an axis with kernel K and stride s; a
word stands for all values up to the next one. `sides` compares the two pads.
"""

FILE = Path(__file__).parent / "sizes" / "sizes.yaml"
SEED = 41
CANDIDATES = 120
"""Rows that are compared for each row that is taken."""
MOST = {"gate": 2**19, "full": 2**23}
"""What a row of a tier may cost, in products."""
ELEMENT = 4
"""What an element that is written costs, in products."""
MOST_REAL = {"f64": 2**12, "f32": 2**10, "f16": 64, "bf16": 16}
"""So many products of an element real numbers may have."""
CONTEXT = ("dtype", "kind", "rank", "data_format", "filter_format", "bias")
"""What each size of the gate tier is combined with; the full tier has all other pairs."""
LABELS = [(name, value) for name, values in SIZES.items() for value in values]
NUMBERS = {label: number for number, label in enumerate(LABELS)}
SMALL = {"channels": 4, "outputs": 4, "groups": 3, "single_channel_groups": 4, "batch": 2}
SMALL |= {"kernel": 3, "stride": 3, "dilation": 2}
"""The largest values of what is not at issue in a row."""
MANY = 0.5
"""How often a size is any of its values, and not a small one."""
HEADER = """\
# yaml-language-server: $schema=../../harness/tconv/corpus/case-file.schema.json
# Written by cases/sizes.py, DIGEST.
format: 1
about: >-
  The sizes at which the code of a kernel changes: vector widths, ends of unrolled loops, whole blocks, long pads. Each
  size is combined with each type and kind of group, rank, layout and bias; in the tier full also with each other size.
cites:
  - {dialect: onnx/ConvTranspose-11, clause: "doc, both equations; attributes dilations, group, pads, strides; input W"}
  - {dialect: onednn/ConvTranspose-1, clause: "detailed description; attributes dilations, groups, pads_begin, strides"}
  - {dialect: openvino/ConvolutionBackpropData-1, clause: "detailed description, both formulas; all attributes"}

base: {batch: 1}

sweeps:
"""
Row = dict[str, Any]
Mask = np.ndarray[Any, np.dtype[np.bool]]
Numbers = np.ndarray[Any, np.dtype[np.int64]]


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


class Drawn:
    """A row at random. It has the sizes that are wanted, if a draw succeeds.

    Args:
        random: the source of chance.
        wanted: the sizes that it must have, by name.
        many: how often another size is any of its values.
    """

    def __init__(self, random: Random, wanted: dict[str, str], many: float) -> None:
        self._random, self._wanted, self._many = random, wanted, many

    def row(self) -> Row:
        """Return its settings."""
        wanted, random = self._wanted, self._random
        axes = [AXES.index(name.partition(" ")[2]) + 1 for name in wanted if " " in name]
        rank = int(wanted.get("rank", random.randint(max([1, *axes]), len(AXES))))
        dtype = wanted.get("dtype", random.choice(list(DType)))
        path = f"{dtype} {wanted.get('kind', random.choice(self._kinds()))}"
        dtype, kind = wanted.get("path", path).split(" ")
        single = kind in {"depthwise", "multiplier"}
        of_groups = "groups" if "groups" in wanted or not single else "single_channel_groups"
        groups = 1 if kind == "dense" else max(self._number(of_groups), 2)
        channels = 1 if single else max(self._number("channels"), 1 if kind == "dense" else 2)
        outputs = 1 if kind == "depthwise" else max(self._number("outputs"), 2 if kind == "multiplier" else 1)
        long = random.choice(AXES[:rank]) if random.random() < self._many else ""
        lists = list(zip(*reversed([self._axis(axis, is_long=axis == long) for axis in AXES[:rank]]), strict=True))
        spatial, kernel, strides, dilations, begin, end = map(list, lists)
        row: Row = {"batch": self._number("batch"), "channels": channels * groups, "out_channels": outputs * groups}
        row |= {"groups": groups} if groups > 1 else {}
        row |= {"spatial": spatial, "kernel": kernel}
        for name, values in {"strides": strides, "dilations": dilations}.items():
            row |= {name: values} if set(values) != {1} else {}
        for name, values in {"pads_begin": begin, "pads_end": end}.items():
            row |= {name: values} if set(values) != {0} else {}
        row |= {"bias": True} if wanted.get("bias", random.choice(SIZES["bias"])) == "yes" else {}
        row |= {"dtype": dtype}
        for name, usual in {"data_format": "NCX", "filter_format": "IOX"}.items():
            word = wanted.get(name, random.choice(SIZES[name]))
            row |= {name: word} if word != usual else {}
        return row

    def _kinds(self) -> list[str]:
        wanted = self._wanted
        kinds = ["dense", "grouped", "depthwise", "multiplier"]
        labels = [
            label for label in wanted.items() if label[0] in {"channels", "outputs", "groups", "single_channel_groups"}
        ]
        return [kind for kind in kinds if all(is_possible(("path", f"f32 {kind}"), label) for label in labels)]

    def _number(self, name: str) -> int:
        if name in self._wanted:
            return int(self._wanted[name])
        values = [int(value) for value in SIZES[name]]
        if self._random.random() > self._many:
            values = [value for value in values if value <= SMALL[name.partition(" ")[0]]]
        return self._random.choice(values)

    def _axis(self, axis: str, *, is_long: bool) -> tuple[int, ...]:
        """Return size, kernel, stride, dilation and pads of an axis."""
        random, wanted = self._random, self._wanted
        k, s, d = (self._number(f"{name} {axis}") for name in ("kernel", "stride", "dilation"))
        begin, end = (self._pad(f"{side} {axis}", k, s) for side in ("begin", "end"))
        sides = wanted.get(f"sides {axis}")
        if sides == "=":
            begin = end = end if f"end {axis}" in wanted else begin
        # The pad that is free is the longer one.
        if sides == "<" and begin >= end and f"end {axis}" not in wanted:
            end = begin + random.randint(1, s)
        if sides == ">" and end >= begin and f"begin {axis}" not in wanted:
            begin = end + random.randint(1, s)
        reach = (k - 1) * d + 1
        output = int(wanted.get(f"output {axis}", random.choice(SIZES[f"output {axis}"]) if is_long else "0"))
        if not output:
            x = max(-(-(begin + end + 1 - reach) // s) + 1, 1) + random.randint(0, 3)
            return x, k, s, d, begin, end
        x = max(-(-(output + begin + end - reach) // s) + 1, 1)
        beyond = (x - 1) * s + reach - begin - end - output
        # What is too long is cropped, at the side that is free.
        if f"end {axis}" in wanted:
            return x, k, s, d, begin + beyond, end
        return x, k, s, d, begin, end + beyond

    def _pad(self, name: str, k: int, s: int) -> int:
        word = self._wanted.get(name) or self._random.choice([*SIZES[name], "0", "below K"])
        random = self._random
        if word == "0" or (word == "below K" and k == 1):
            return 0
        if word == "below K":
            return random.randint(1, k - 1)
        steps = int((word[2:-1] or "1") if "+" in word else "0")
        return k + steps * s + (0 if word == "K+3s" else random.randint(0, s - 1))


def cost(row: Row) -> int:
    """Return what the case of a row costs: its products, and several times the elements that it reads and writes."""
    outputs = row["out_channels"]
    taps = prod(row["kernel"]) * outputs // row.get("groups", 1)
    ones = [1] * len(row["kernel"])
    axes = zip(row["spatial"], row["kernel"], row.get("strides", ones), row.get("dilations", ones), strict=True)
    # Before the pads crop it: so much a runtime may write.
    written = row["batch"] * outputs * prod(starmap(reach, axes))
    return int(row["batch"] * row["channels"] * prod(row["spatial"]) * taps + ELEMENT * written)


def has_products(row: Row) -> bool:
    """Return whether some product reaches the output: pads may leave nothing but the points between the taps."""
    ones, zeros = [1] * len(row["kernel"]), [0] * len(row["kernel"])
    named = {"strides": ones, "dilations": ones, "pads_begin": zeros, "pads_end": zeros}
    axes = zip(row["spatial"], row["kernel"], *(row.get(name, usual) for name, usual in named.items()), strict=True)
    return all(
        any(begin <= i * s + j * d < reach(x, k, s, d) - end for i in range(x) for j in range(k))
        for x, k, s, d, begin, end in axes
    )


def numbers_of(row: Row) -> Numbers:
    """Return the numbers of the sizes that a row has, as an array; none if it is no case."""
    try:
        case = build("a", row, {})
    except ImpossibleCase:
        return np.array([], dtype=int)
    if not has_products(row):
        return np.array([], dtype=int)
    return np.array([NUMBERS[label] for label in find_sizes(case).items()], dtype=int)


def write_rows(tier: str, random: Random, missing: Mask, important: Mask) -> list[Row]:
    """Return rows with all missing pairs that are important. The pairs of these rows are not missing any more."""
    rows: list[Row] = []
    while (places := np.argwhere(np.triu(missing & important))).size:
        one, other = (LABELS[i] for i in places[random.randrange(len(places))])
        best, best_gain, best_numbers = None, 0, None
        for number in range(CANDIDATES * 8):
            if number >= CANDIDATES and best is not None:
                break
            row = Drawn(random, dict((one, other)), MANY / (1 + number % 4)).row()
            numbers = numbers_of(row)
            if cost(row) > MOST[tier] or not {NUMBERS[one], NUMBERS[other]} <= set(numbers.tolist()):
                continue
            pairs = missing[np.ix_(numbers, numbers)]
            gain = 64 * int((pairs & important[np.ix_(numbers, numbers)]).sum()) + int(pairs.sum())
            if gain > best_gain:
                best, best_gain, best_numbers = row, gain, numbers
        if best is None:
            print(f"{tier}: no row has {one} and {other}", file=sys.stderr)
            important[NUMBERS[one], NUMBERS[other]] = important[NUMBERS[other], NUMBERS[one]] = False
            continue
        rows.append(best)
        missing[np.ix_(best_numbers, best_numbers)] = False
    return rows


def data_of(row: Row, number: int) -> str:
    """Return what a row is filled with: every other one with real numbers, if their bound shows a lost product."""
    groups, bits = row.get("groups", 1), EXACT_BITS[DType(row["dtype"])]
    terms = row["channels"] * prod(row["kernel"])
    if number % 2 and terms // groups < MOST_REAL[row["dtype"]]:
        return "all-bits" if row["dtype"] == "f64" else "normal"
    # Integers are budgeted for all channels, for any groups.
    return "integers" if terms < 0.9 * 2**bits else "sparse"


def lines_of(rows: list[Row]) -> list[str]:
    """Return the rows as YAML, each on a line, with a label that says what it has."""
    seen: Counter[str] = Counter()
    lines = []
    for number, row in enumerate(rows):
        groups = row.get("groups", 1)
        sizes = find_sizes(build("a", row, {}))
        name = (
            f"{sizes['path'].replace(' ', '-')}-c{row['channels'] // groups}-o{row['out_channels'] // groups}-g{groups}"
        )
        seen[name] += 1
        label = name if seen[name] == 1 else f"{name}-{seen[name]}"
        settings = ", ".join(f"{key}: {flow(value)}" for key, value in (row | {"data": data_of(row, number)}).items())
        lines.append(f"        {label}: {{{settings}}}")
    return lines


def flow(value: object) -> str:
    """Return a setting's value as YAML."""
    return "true" if value is True else str(value)


def digest() -> str:
    """Return the digest of this script, which decides the rows."""
    return blake2b(Path(__file__).read_bytes(), digest_size=8).hexdigest()


def main() -> None:
    """Write the file."""
    random = Random(SEED)
    count = len(LABELS)
    missing, context = np.zeros((count, count), bool), np.zeros((count, count), bool)
    for (i, one), (j, other) in combinations(enumerate(LABELS), 2):
        if one[0] != other[0] and is_possible(one, other):
            missing[i, j] = missing[j, i] = True
            context[i, j] = context[j, i] = one[0] in CONTEXT or other[0] in CONTEXT
    gate = write_rows("gate", random, missing, context.copy())
    print(f"gate: {len(gate)} rows, cost {sum(map(cost, gate))}", file=sys.stderr)
    full = write_rows("full", random, missing, np.ones_like(missing))
    print(f"full: {len(full)} rows, cost {sum(map(cost, full))}", file=sys.stderr)
    text = HEADER.replace("DIGEST", digest())
    for name, about, tier, rows in (
        ("contexts", "Each size with each type and kind of group, rank, layout and bias.", "gate", gate),
        ("pairs", "Each size with each other one.", "full", full),
    ):
        text += f"  - name: {name}\n    about: {about}\n    tier: {tier}\n    axes:\n      size:\n"
        text += "\n".join(lines_of(rows)) + "\n"
    FILE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
