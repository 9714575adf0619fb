"""Check that two installations of tconv say the same: records, causes, exit codes, operands, and printed output.

`python bench/installations.py TCONV ANSWERS` runs the command TCONV of one installation and keeps its answers in the
folder ANSWERS. If it is called again with the command of another installation, it prints a line for each answer that
differs, and the exit code is 1 if one does. It runs each backend, the wrong backends of tests/, and the commands below.

Times, paths, numbers of nodes and threads, and the order of records do not count. Figures may differ by a relative
1e-9, because of the order of summation. If an id has the name of a folder twice, it counts as the id that has it
once.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tconv.backends import BackendInfo, Refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.cases.call import Call

HERE = Path(__file__).parent
PLAYED = ("misread", "rounding")
"""Modules of tests/wrong_backends whose answers depend only on the call."""
DIGESTS = ("onnx/ConvTranspose-22", "onednn/ConvTranspose-1", "openvino/ConvolutionBackpropData-1", "geometry/1")
COMMANDS = (
    ("list --tier full",),
    ("backends",),
    ("show padding/output-shape/odd-unit-by-hand",),
    ("check",),
    ("check --coverage --tier smoke", "coverage --tier smoke"),
    (
        "show --spatial 5,5 --kernel 3,3 --strides 2,2 --auto-pad same_upper",
        "resolve --spatial 5,5 --kernel 3,3 --strides 2,2 --auto-pad same_upper",
    ),
    ("port --from onnx/ConvTranspose-22 --to openvino/ConvolutionBackpropData-1 --spatial 8 --kernel 3 --strides 2",),
    ("explain padding/output-shape/odd-unit-by-hand", "diagnose padding/output-shape/odd-unit-by-hand"),
    ("explain --backend wrong_backends:PadsSwapped", "learn --backend wrong_backends:PadsSwapped"),
    ("shrink examples/onnx/pad --backend wrong_backends:PadsSwapped",),
    ("fuzz --examples 50 --backend wrong_backends:PadsSwapped",),
    ("export examples/onnx/pad exported",),
    ("run examples/** --backend nobody",),
)
"""The commands to run; if an installation does not know the first spelling, the next one is used."""
PROGRESS = re.compile(r": \d+ of \d+ cases$")
"""Lines that occur more often on a slower machine."""
UNKNOWN = re.compile("a command must be one of|No such option|Got unexpected extra")
NOT_COMPARED = frozenset({"seconds", "artifact", "alone", "earlier", "records", "format"})
"""Keys of records and results that are paths, or vary from run to run."""
BILLIONTH = 1e-9


class OperandDigests:
    """A backend that answers with the digest of its inputs: the records show which operands were made."""

    def info(self) -> BackendInfo:
        """Return the dialects that have a spelling and layouts of their own."""
        return BackendInfo("operand-digests", "1", DIGESTS)

    def run(self, call: Call, arrays: Mapping[str, Any]) -> Refused:
        """Refuse, with the digest of attributes and arrays as the reason."""
        digest = hashlib.blake2b(repr(sorted(dict(call.attributes).items())).encode(), digest_size=16)
        for name, array in sorted(arrays.items()):
            digest.update(f"{name} {array.dtype} {array.shape}".encode())
            digest.update(array.tobytes())
        return Refused(digest.hexdigest())


def main() -> int:
    """Run an installation, print a line for each difference, and return 1 if there is one."""
    parser = argparse.ArgumentParser(description="Whether two installations of tconv say the same.")
    parser.add_argument("tconv", type=Path, help="the command tconv of an installation")
    parser.add_argument(
        "answers", type=Path, help="the folder of the answers of another one; what is missing is kept there"
    )
    parser.add_argument("--tier", action="append", help="of the runs; repeatable; default: gate and full")
    parser.add_argument("--only", action="append", metavar="TEXT", help="leave out what has none of these in its name")
    parser.add_argument("--small", action="store_true", help="a few questions of each kind, a few cases each, for CI")
    arguments = parser.parse_args()
    tiers = ["smoke"] if arguments.small else arguments.tier or ["gate", "full"]
    arguments.answers.mkdir(parents=True, exist_ok=True)
    kept, equal, different = 0, 0, 0
    for name, spellings, more in questions(arguments.tconv, tiers, small=arguments.small):
        if arguments.only and not any(text in name for text in arguments.only):
            continue
        new = answer(arguments.tconv, spellings, more.split())
        file = arguments.answers / f"{re.sub('[^A-Za-z0-9]+', '-', name)}.json"
        if not file.exists():
            file.write_text(json.dumps(new), "utf-8")
            kept += 1
            print(f"{name}: kept, {size(new)}", flush=True)
            continue
        lines = list(differences(comparable(json.loads(file.read_text("utf-8"))), new))
        print(f"{name}: {f'{len(lines)} differences' if lines else f'equal, {size(new)}'}", flush=True)
        for line in lines[:20]:
            print(f"    {line}")
        equal, different = equal + (not lines), different + bool(lines)
    print(f"{kept} answers kept, {equal} equal, {different} different")
    return int(bool(different))


def questions(tconv: Path, tiers: Sequence[str], *, small: bool) -> Iterator[tuple[str, Sequence[str], str]]:
    """Yield a name, the spellings of a command, and a run's further arguments; only a few of each kind if `small`."""
    # `check` is not among these: the environment `lint` runs it.
    few = slice(0, 3 if small else None)
    patterns = "examples/** padding/output-shape/**" if small else ""
    for spellings in COMMANDS[few]:
        yield spellings[0], spellings, ""
    listed = answer(tconv, ["backends"], [])["printed"]
    backends = sorted(line.split()[0] for line in listed if line and usable(line))
    for tier in tiers:
        for backend in backends[few]:
            yield f"run {backend}, {tier}", ["run"], f"{patterns} --backend {backend} --tier {tier}"
    for name in played()[few]:
        yield f"played {name}", ["run"], f"{patterns} --backend wrong_backends:{name} --tier smoke"
    for dialect in DIGESTS[few]:
        more = f"--backend installations:OperandDigests --dialect {dialect} --tier {tiers[-1]}"
        yield f"operands of {dialect}", ["run"], f"{patterns} {more}"


def usable(line: str) -> bool:
    """Return whether a line of `tconv backends` names an installed backend."""
    return not line.startswith(" ") and "not there" not in line


def played() -> list[str]:
    """Return the names of wrong backends whose answers depend only on the call."""
    sources = [(HERE.parent / "tests" / "wrong_backends" / f"{module}.py").read_text("utf-8") for module in PLAYED]
    return sorted(name for source in sources for name in re.findall(r"^class ([A-Z]\w+)\(", source, re.MULTILINE))


def answer(tconv: Path, spellings: Sequence[str], more: Sequence[str]) -> dict[str, Any]:
    """Return the answer of an installation, by key; a run also has its records by case."""
    paths = os.pathsep.join([str(HERE), str(HERE.parent / "tests")])
    environment = os.environ | {"PYTHONPATH": paths, "COLUMNS": "120"}
    for spelling in spellings:
        with tempfile.TemporaryDirectory() as folder:
            words = [*spelling.split(), *more, *(["--json", "--output", "out"] if more else [])]
            done = subprocess.run(
                [tconv.absolute(), *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode == 2 and UNKNOWN.search(done.stderr) and spelling != spellings[-1]:  # noqa: PLR2004 - wrong usage
                continue
            result: dict[str, Any] = {"exit code": done.returncode}
            if more:
                result |= {"result": comparable(json.loads(done.stdout or "null")), "judged": judged(Path(folder))}
            else:
                texts = (done.stdout, done.stderr, *map(read, sorted(Path(folder).rglob("*.*"))))
                lines = [line for text in texts for line in text.splitlines() if not PROGRESS.search(line)]
                result["printed"] = [comparable(line) for line in lines]
            return result
    raise AssertionError


def read(path: Path) -> str:
    """Return a written file as text, or its digest if it is not text."""
    data = path.read_bytes() if path.is_file() else b""
    try:
        return f"{path.name}\n{data.decode()}"
    except UnicodeDecodeError:
        return f"{path.name} {hashlib.blake2b(data, digest_size=16).hexdigest()}"


def judged(folder: Path) -> dict[str, Any]:
    """Return the records of a run by case."""
    lines = [line for file in folder.rglob("*.jsonl") for line in file.read_text("utf-8").splitlines()[1:]]
    return {record["case"]: record for record in map(comparable, map(json.loads, lines))}


def comparable(value: Any) -> Any:  # noqa: ANN401 - JSON values
    """Return a value without times, paths, keys in `NOT_COMPARED` and folders that an id has twice."""
    match value:
        case dict():
            return {key: comparable(item) for key, item in value.items() if key not in NOT_COMPARED}
        case list():
            return [comparable(item) for item in value]
        case str():
            once = re.sub(r"\b([\w-]+)/\1/", r"\1/", value)
            once = re.sub(r"(?<=/)([\w-]+)/\1/", r"\1/", once)
            once = re.sub(r"/[\w./-]*/site-packages/|/tmp/[\w./-]+|/[\w./-]*/(bin|data)/", "", once)
            # OpenVINO continues the numbers of its nodes from call to call; threads are numbered in the same way.
            return re.sub(r"\d+(\.\d+)? ?(s|ms|seconds)\b|\(\d+\) panicked|(?<=_)\d{2,}\b", "N", once)
        case _:
            return value


def differences(old: Any, new: Any, place: str = "") -> Iterator[str]:  # noqa: ANN401 - JSON values
    """Yield a line for each place at which two values differ."""
    match old, new:
        case dict(), dict():
            for key in old | new:
                if key not in old or key not in new:
                    yield f"{place}: {key} in {'the old' if key in old else 'the new'} one alone"
                else:
                    yield from differences(old[key], new[key], f"{place}: {key}" if place else key)
        case list(), list() if len(old) == len(new):
            for index, pair in enumerate(zip(old, new, strict=True)):
                yield from differences(*pair, f"{place}[{index}]")
        case (float(), int() | float()) | (int(), float()) if math.isclose(old, new, rel_tol=BILLIONTH):
            return
        case _ if old != new:
            yield f"{place}: {shown(old)} is now {shown(new)}"


def shown(value: Any) -> str:  # noqa: ANN401 - JSON values
    """Return a value as one short line."""
    text = json.dumps(value)
    return text if len(text) < 200 else f"{text[:200]}..."  # noqa: PLR2004 - the length of a line


def size(result: Mapping[str, Any]) -> str:
    """Return the size of the comparison."""
    return f"{len(result['judged'])} records" if "judged" in result else f"{len(result['printed'])} lines"


if __name__ == "__main__":
    sys.exit(main())
