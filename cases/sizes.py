"""Write cases/sizes/sizes.yaml: rows that have the sizes at which a kernel's code changes, alone and in pairs.

    python cases/sizes.py

The sizes are those of `tconv.corpus.size_coverage`. A covering array is built row by row: some random rows with one
missing pair are compared, and the one with the most missing pairs is taken. Source: Cohen, Dalal, Fredman and Patton,
The AETG system, IEEE Transactions on Software Engineering 23, 1997. Libraries build rows from values that do not depend
on each other; here an output's size follows from six values, and a row must be cheap.
"""

from __future__ import annotations

import sys
from collections import Counter
from hashlib import blake2b
from itertools import combinations, starmap
from math import prod
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from tconv.cases.operands import EXACT_BITS
from tconv.corpus.building import ImpossibleCase, build
from tconv.corpus.size_coverage import AXES, SIZES, find_sizes, is_possible
from tconv.dialects.geometry import reach
from tconv.vocabulary import DType

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
    """Return a digest of all that decides which rows there are: this script, and the sizes."""
    return blake2b(Path(__file__).read_bytes() + repr(SIZES).encode(), digest_size=8).hexdigest()


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
