"""Case files that are mutated, made and too costly: refused at their place, in seconds."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from campaign import CASES, ROOT, Surroundings, Tally

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = "".join(CASES.splitlines(keepends=True)[:4])
WORDS = (
    "-1", "0", "2147483648", "9" * 90, "1e999", ".nan", "null", "true", "[]", "{}", "[1, [2]]", '"\\e"', '"\\0"', '"\\u202e"',
    "&a [*a]", "*x", "!!python/name:os.system", "- -", "? :", "'", '"', "\t", "\x1b", "\u2028", "full-999999", "{raw: x}", "<<",
)  # fmt: skip


def campaigns(count: int, seed: int) -> Iterator[Tally]:
    """Yield the tallies of the campaigns; the commands run in this process."""
    chance = random.Random(seed)
    with Surroundings() as surroundings:
        yield _mutated(count, chance, surroundings)
        yield _made(surroundings)


def _check(surroundings: Surroundings, text: str, codes: tuple[int, ...]) -> str | None:
    from in_process import command  # noqa: PLC0415 - it imports tconv

    (surroundings.folder / "mutated.yaml").write_text(text, encoding="utf-8", errors="surrogateescape")
    code, printed = command(surroundings, "list", "--tier", "full", "--cases", "mutated.yaml")
    return None if code in codes else f"exit code {code}: {printed[-300:]!r}"


def _mutated(count: int, chance: random.Random, surroundings: Surroundings) -> Tally:
    """A line or a word of one of tconv's own case files is changed, doubled, moved or missing."""
    tally = Tally("case files mutated")
    files = sorted((ROOT / "cases").rglob("*.yaml"))
    for _ in range(count):
        file = chance.choice(files)
        lines = file.read_text().splitlines()
        for _ in range(chance.randint(1, 3)):
            line = chance.randrange(len(lines))
            words = lines[line].split(" ")
            match chance.randrange(5):
                case 0:
                    words[chance.randrange(len(words))] = chance.choice(WORDS)
                    lines[line] = " ".join(words)
                case 1:
                    lines.insert(line, lines[chance.randrange(len(lines))])
                case 2:
                    del lines[line]
                    lines = lines or [""]
                case 3:
                    lines[line] = " " * chance.randrange(5) + lines[line]
                case _:
                    lines[line] = lines[line][: chance.randrange(len(lines[line]) + 1)]
        tally.count(f"{file.name}", _check(surroundings, "\n".join(lines) + "\n", (0, 2)))
    return tally


def _labels(count: int) -> str:
    return "{" + ", ".join(f"l{number}: {{}}" for number in range(count)) + "}"


def _axes(count: int, labels: int) -> str:
    return "{" + ", ".join(f"a{number}: {_labels(labels)}" for number in range(count)) + "}"


def _made(surroundings: Surroundings) -> Tally:
    """Files that would cost minutes or gigabytes: all of them are refused."""
    tally = Tally("case files too costly")
    sweep = "sweeps: [{{name: a, axes: {}}}]"
    alias = ", ".join(f"{{name: b{number}, axes: *x}}" for number in range(120))
    ones = "[" + ", ".join(["1"] * 70) + "]"
    plans = {
        "a sweep of 500,000": sweep.format(_axes(2, 708)),
        "a sweep of 18 axes": sweep.format(_axes(18, 2)),
        "a sweep of 40 axes": sweep.format(_axes(40, 1)),
        "20,000 sweeps": "sweeps: [" + ", ".join(f"{{name: a{n}, axes: {{seed: [1]}}}}" for n in range(20_000)) + "]",
        "an alias used 120 times": f"sweeps: [{{name: a, axes: &x {_axes(3, 40)}}}, {alias}]",
        "exhaustive sweeps": "sweeps: ["
        + ", ".join(f"{{name: a{n}, tier: exhaustive, axes: {_axes(7, 10)}}}" for n in range(3))
        + "]",
        "a tensor beyond the limit": "cases: [{name: a, with: {spatial: [70000, 70000], kernel: [1, 1]}}]",
        "an output beyond the limit": "cases: [{name: a, with: {strides: 99999999}}]",
        "2^46 products": "cases: [{name: a, with: {spatial: [4096, 4096], kernel: [2048, 2048], pads_begin: 1023, pads_end: 1024}}]",
        "rank 64": f"cases: [{{name: a, with: {{spatial: {ones}, kernel: {ones}}}}}]",
        "a shape of rank 70": f"cases: [{{name: a, with: {{x: {{shape: {ones}}}, breaks: filter-rank-matches}}}}]",
        "a NUL": 'cases: [{name: a, about: "\\0"}]',
        "an escape": 'cases: [{name: a, about: "\\e[2J"}]',
        "a bidi control": 'cases: [{name: a, about: "\\u202e"}]',
        "half a character": 'cases: [{name: a, about: "\\ud800"}]',
        "a raw byte": "cases: [{name: \udcff}]",
        "deep nesting": "cases: " + "[" * 10_000,
        "a long number": "cases: [{name: a, with: {seed: " + "9" * 5000 + "}}]",
        "4 MiB and more": "about: " + "x" * 2**23,
    }
    for name, text in plans.items():
        tally.count(name, _check(surroundings, f"{HEAD}{text}\n", (2,)))
    return tally
