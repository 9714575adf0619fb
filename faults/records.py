"""Record files and waivers that are edited, mixed, cut and made anew: told with their line, or red, and never green."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

from campaign import Surroundings, Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RUN = ("run", "--cases", "cases.yaml", "--tier", "full", "--waivers", "none", "--backend", "wrong_backends:PadsSwapped")
GATE = ("--cases", "cases.yaml", "--waivers", "none")
HOSTILE: tuple[Any, ...] = (
    "", "\0", "\x1b[2J", "\ud800", "\u202e", "x" * 5000, "../../outside", "onnx/ConvTranspose-1", None, True, -1, 10**30, 1e400,
    [], {}, [[[[]]]], {"kind": "agreed"}, {"kind": "agreed", "rule": "exact"}, ["nothing"], "NaN",
)  # fmt: skip
WAIVERS = """\
format: 1
backend: PadsSwapped
waivers:
  - name: known
    dialects: [onnx/ConvTranspose-22]
    verdict: {kind: differed}
    versions: ""
    clause: of a text
    because: it is so
    example: cases/plain[strides=1,dilations=1,pads_begin=1,dtype=f32]
    date: "2026-11-20"
"""


def campaigns(count: int, seed: int) -> Iterator[Tally]:
    """Yield the tallies of the campaigns; the commands run in this process, which starts none."""
    chance = random.Random(seed)
    with Surroundings() as surroundings:
        code = surroundings.run(*RUN)
        if code != 1:
            raise RuntimeError(f"the run must be red (got {code}): {surroundings.printed()}")
        path = next((surroundings.folder / "reports").glob("*.jsonl"))
        text = path.read_text()
        yield _edited(count, chance, surroundings, text)
        yield _bytes_changed(count, chance, surroundings, text)
        yield _waivers(count, chance, surroundings, path.name)


def _held(surroundings: Surroundings, *arguments: str) -> str | None:
    """Report records that are red, and return what is wrong, such as that they are green."""
    from in_process import command  # noqa: PLC0415 - it imports tconv

    code, printed = command(surroundings, "report", *arguments)
    if code not in {1, 2}:
        return f"exit code {code}: {printed[-300:]!r}"
    return None


def _edited(count: int, chance: random.Random, surroundings: Surroundings, text: str) -> Tally:
    """A value anywhere in a file is another one; keys are gone; lines are doubled, swapped and missing."""
    tally = Tally("records edited")
    for _ in range(count):
        lines = [json.loads(line) for line in text.splitlines()]
        line = chance.randrange(len(lines))
        what = chance.choice((_replace, _replace, _replace, _remove, _double, _drop))
        what(lines, line, chance)
        (surroundings.folder / "edited.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        tally.count(f"{what.__name__} in line {line + 1}", _held(surroundings, "edited.jsonl", *GATE))
    return tally


def _places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401 - JSON values
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield (*above, key)
        yield from _places(value[key], (*above, key))


def _inner(lines: list[Any], line: int, chance: random.Random) -> tuple[Any, Any]:
    *above, key = chance.choice(list(_places(lines[line])))
    value = lines[line]
    for segment in above:
        value = value[segment]
    return value, key


def _replace(lines: list[Any], line: int, chance: random.Random) -> None:
    value, key = _inner(lines, line, chance)
    value[key] = chance.choice(HOSTILE)


def _remove(lines: list[Any], line: int, chance: random.Random) -> None:
    value, key = _inner(lines, line, chance)
    del value[key]


def _double(lines: list[Any], line: int, _chance: random.Random) -> None:
    lines.append(lines[line])


def _drop(lines: list[Any], line: int, _chance: random.Random) -> None:
    del lines[line]


def _bytes_changed(count: int, chance: random.Random, surroundings: Surroundings, text: str) -> Tally:
    """Bytes are changed, added and cut off."""
    tally = Tally("records with other bytes")
    for _ in range(count):
        data = bytearray(text.encode())
        place = chance.randrange(len(data))
        changes: tuple[Callable[[], object], ...] = (
            lambda data=data, place=place: data.__setitem__(place, chance.randrange(256)),
            lambda data=data, place=place: data.insert(place, chance.randrange(256)),
            lambda data=data, place=place: data.__delitem__(slice(place, None)),
            lambda data=data, place=place: data.__delitem__(slice(place, place + chance.randrange(1, 500))),
        )
        chance.choice(changes)()
        (surroundings.folder / "changed.jsonl").write_bytes(bytes(data))
        tally.count(f"at byte {place}", _held(surroundings, "changed.jsonl", *GATE))
    return tally


def _waivers(count: int, chance: random.Random, surroundings: Surroundings, records: str) -> Tally:
    """A line of a waiver file is changed, doubled or missing, or has another word."""
    tally = Tally("waivers edited")
    words = (
        '"\\e[2J"',
        "*a",
        "&a",
        "!!python/object:os.system",
        "{",
        "]",
        "~",
        "9" * 500,
        '"\\ud800"',
        "- - -",
        "\t",
        "<<: *x",
    )
    for _ in range(count):
        lines = WAIVERS.splitlines()
        line = chance.randrange(len(lines))
        match chance.randrange(3):
            case 0:
                key, _, _ = lines[line].partition(": ")
                lines[line] = f"{key}: {chance.choice(words)}"
            case 1:
                lines.insert(line, lines[line])
            case _:
                del lines[line]
        (surroundings.folder / "waivers.yaml").write_text("\n".join(lines) + "\n")
        arguments = (f"reports/{records}", "--cases", "cases.yaml", "--waivers", "waivers.yaml")
        tally.count(f"line {line + 1} {lines[line:][:1]}", _held(surroundings, *arguments))
    return tally
