"""What a run prints as the causes of wrong runtimes, held against `tests/golden/`, a file for each.

A changed line is no error by itself: compare it with the truth that stands in the first line of the file, written by
hand. It must be more exact than before: fewer calls that contradict it, or more that it explains. `TCONV_GOLDEN=write`
rewrites all but the truth. Nothing but the command and its JSON is used.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import pytest

from recorded_runtime import FOLDER, read
from strategies import part
from wrong_backends import SEED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from small_corpus import Command

GOLDEN = Path(__file__).parent / "golden"
WRITES = os.environ.get("TCONV_GOLDEN") == "write"
LARGEST_RECORDS = 300_000
"""Bytes of all recorded outcomes together."""
SMALL = ("bias/**", "channels/**", "groups/**", "kernels/**", "padding/**", "ranks/**", "strides-dilations/**")
"""For those that compute slowly, or differ nearly everywhere."""
REAL = ("dtypes/**", "real-data/**", "special-values/**")
"""For those that lose bits."""
ON_THE_DATA = """\
format: 1
about: Padding that belongs to the output, and came to the data.
cites: [{dialect: onnx/ConvTranspose-22, clause: doc}]
base: {spatial: [6], kernel: [5]}
sweeps:
  - name: crop
    axes: {strides: [1, 2, 3], pads_begin: [0, 1, 2, 3], pads_end: [0, 1, 2]}
"""


@dataclass(frozen=True)
class Played:
    """How a runtime with a known bug is asked; the first line of its golden file says what is wrong with it.

    Attributes:
        patterns: the cases that it is asked.
        spec: how it is named; empty for one of `wrong_backends`.
        needs: the module of its runtime, if it is a real one.
        tier: the tier that it is asked.
        cases: a case file of its own.
    """

    patterns: Sequence[str] = ()
    spec: str = ""
    needs: str = ""
    tier: str = "smoke"
    cases: str = ""


RUNTIMES = {
    # Wrong attributes, operands and sums.
    **dict.fromkeys(("PadsSwapped", "NoOutputPaddingInThePlane", "BiasOfTheFirstGroup", "BiasDoubled"), Played()),
    **dict.fromkeys(("LowerAsUpper", "PadsSwappedAndBiasDoubled"), Played()),
    "DroppedTap": Played(SMALL),
    # Lost bits.
    **dict.fromkeys(
        ("HalfResults", "Tf32Operands", "Bf16Operands", "Bf16Truncated", "InSinglePrecision"), Played(REAL)
    ),
    **dict.fromkeys(("SubnormalOperandsFlushed", "SubnormalResultsFlushed"), Played(REAL)),
    **dict.fromkeys(("ResultsTruncated", "RoundedUpFromOdd"), Played(REAL)),
    "F16Sums": Played(("real-data/paths*",)),
    # What was seen in runtimes that nobody here has written.
    **dict.fromkeys(("UnsetMemoryBesides", "CrashesOnGroups", "LastChannelOf17", "NoDevice"), Played()),
    **dict.fromkeys(("RowsBeyond32Skipped", "FirstMultiplierForAll"), Played()),
    **dict.fromkeys(("EndPaddingOfAxis1Ignored", "IntegerBits", "PadsAroundData"), Played()),
    "DanglingUnderNxc": Played(("strides-dilations/grid/*", "batch/**")),
    "WrongByChanceAtStride3": Played(("strides-dilations/grid/*",)),
    "on-the-data": Played(spec="wrong_backends:PadsAroundData", cases=ON_THE_DATA),
    # Real runtimes. Of these the bugs are known from their answers, formulas and source. Which sums of NaN and infinity
    # the kernels of OpenCV skip may depend on the processor. It is not asked dtypes/lists: its answer holds memory that
    # nobody wrote, so each process gives another one.
    "opencv": Played(
        (*SMALL, "dtypes/attributes", "dtypes/unreached", "empty/**", "invalid/**"), spec="opencv", needs="cv2"
    ),
    "tract": Played(
        (*SMALL[:4], "padding/auto-pad/**", "padding/pads/**", *SMALL[5:], "batch/**"), spec="tract", needs="tract"
    ),
    "mlx": Played(spec="recorded_runtime:Mlx", tier="gate"),
    "mnn": Played(spec="recorded_runtime:Mnn", tier="gate"),
    "tvm": Played(spec="recorded_runtime:Tvm"),
}


CHOSEN = part(list(RUNTIMES), 2)
"""In the profile `quick` every second one: each is a whole run."""


@pytest.mark.thorough
@pytest.mark.parametrize("name", CHOSEN)
def test_the_causes_of_a_wrong_runtime_are_those_of_its_golden_file(
    name: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played = RUNTIMES[name]
    if played.needs:
        pytest.importorskip(played.needs)
    monkeypatch.setenv(SEED, "1")
    run = result_of(name, played, command, tmp_path)
    file = GOLDEN / f"{name}.txt"
    golden = file.read_text(encoding="utf-8")
    text = golden_text(golden, run)
    if WRITES:
        file.write_text(text, encoding="utf-8")
    else:
        assert text == golden


def result_of(name: str, played: Played, command: Command, folder: Path) -> dict[str, Any]:
    """Run a runtime without waivers, and return what `--json` prints of it.

    One worker, so that what depends on earlier calls depends on the same ones each time.
    """
    arguments = ["--tier", played.tier, "--waivers", "none", "-j", "1", "--json"]
    if played.cases:
        (folder / "own.yaml").write_text(played.cases, encoding="utf-8")
        arguments = ["--cases", str(folder / "own.yaml"), *arguments]
    if played.spec.startswith("recorded_runtime"):
        header, _ = read(name)
        # What was not recorded cannot be asked; contexts and quantised operators are newer than the records.
        excluded = ("contexts/**", "quantised/**", *header["excluded"])
        arguments += ["--no-new-calls", *(word for case in excluded for word in ("--exclude", case))]
    done = command("run", *played.patterns, "--backend", played.spec or f"wrong_backends:{name}", *arguments)
    assert done.returncode == 1, done.stderr
    run: dict[str, Any] = json.loads(done.stdout)["runs"][0]
    return run


def golden_text(golden: str, run: dict[str, Any]) -> str:
    """Return a run as its golden file has it: the truth as it stands there, the counts, and of each cause the line."""
    counts = ", ".join(f"{count} {status}" for status, count in run["counts"].items() if count)
    head = f"# {run['tier']} tier, "
    lines = [
        *takewhile(lambda line: not line.startswith(head), golden.splitlines()),
        f"{head}{run['dialect']}, {run['cases']} cases: {counts}",
    ]
    for cause in run["causes"]:
        head = f"{cause['status']} {cause['count']}, {' or '.join(cause['kinds'])}: "
        lines += ["", head.rstrip(" :"), *wrap(cause["what"], 116, initial_indent="    ", subsequent_indent="      ")]
        lines.append(f"    example: {cause['example']}")
    return "\n".join(lines) + "\n"


def test_every_golden_file_is_of_a_runtime() -> None:
    assert {file.stem for file in GOLDEN.glob("*.txt")} == set(RUNTIMES)


def test_recorded_outcomes_are_small_and_each_case_has_one() -> None:
    """No case is in two lines, the counts of the header hold, and the files stay within what the repository gives."""
    files = sorted(FOLDER.glob("*.outcomes.xz"))
    assert sum(file.stat().st_size for file in files) <= LARGEST_RECORDS
    for file in files:
        header, outcomes = read(file.name.removesuffix(".outcomes.xz"))
        cases = [case for outcome in outcomes for case in outcome["cases"]]
        assert len(cases) == len(set(cases)) == header["asked"] - header["not-applicable"] - len(header["excluded"])
