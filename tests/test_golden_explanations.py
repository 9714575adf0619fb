"""What a run prints as the causes of wrong runtimes, held against `tests/golden/`, a file for each.

A changed line is no error by itself: compare it with the truth that stands in the first line of the file. It must be
more exact than before: fewer calls that contradict it, or more that it explains. `TCONV_GOLDEN=write` rewrites the
files. Nothing but the command and its JSON is used.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import pytest

from recorded_runtime import FOLDER, read
from strategies import part
from tconv.corpus import Corpus
from tconv.dialects import find_dialect
from tconv.expectation.expected import Values, expect
from wrong_backends import SEED

if TYPE_CHECKING:
    from small_corpus import Command
    from tconv.cases.case import Case
    from tconv.dialects.geometry import Geometry

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
Predicate = Callable[["Case", "Geometry"], bool]


@dataclass(frozen=True)
class Played:
    """A runtime with a known bug.

    Attributes:
        truth: what is wrong with it, in a line.
        changes: whether the bug may change the answer to a valid call; None if that is not easily said. Each failure
            of a valid call must be one of these.
        patterns: the cases that it is asked.
        spec: how it is named; empty for one of `wrong_backends`.
        needs: the module of its runtime, if it is a real one.
        tier: the tier that it is asked.
        cases: a case file of its own.
    """

    truth: str
    changes: Predicate | None = None
    patterns: Sequence[str] = ()
    spec: str = ""
    needs: str = ""
    tier: str = "smoke"
    cases: str = ""


def _explicit(case: Case) -> bool:
    return str(case.attributes.auto_pad or "explicit") == "explicit" and case.attributes.output_shape is None


def _channels(case: Case) -> int:
    return int(case.x.shape[1]) // (case.attributes.groups or 1)


def _pads_differ(case: Case) -> bool:
    begin, end = case.attributes.pads_begin or (), case.attributes.pads_end or ()
    return any(begin) != any(end) or (any(begin) and begin != end)


def _same(case: Case) -> bool:
    return str(case.attributes.auto_pad).startswith("same")


def _has_bias(case: Case) -> bool:
    return case.b is not None


def _is_nxc(case: Case) -> bool:
    return case.attributes.data_format == "NXC"


RUNTIMES = {
    # Wrong attributes, operands and sums.
    "PadsSwapped": Played("pads_begin and pads_end are exchanged", lambda case, _: _pads_differ(case)),
    "NoOutputPaddingInThePlane": Played(
        "output_padding is ignored if there are two spatial axes",
        lambda case, geometry: len(geometry.output) == 2 and any(case.attributes.output_padding or ()),
    ),
    "BiasOfTheFirstGroup": Played(
        "the bias is added to the outputs of the first group alone",
        lambda case, geometry: _has_bias(case) and geometry.groups > 1,
    ),
    "DroppedTap": Played(
        "the last column of the filter (its last axis as it is written) is taken for zero", None, SMALL
    ),
    "BiasDoubled": Played("the bias is added twice", lambda case, _: _has_bias(case)),
    "BiasOfNextChannel": Played("each channel has the bias of the next one", lambda case, _: _has_bias(case)),
    "LowerAsUpper": Played(
        "same_lower is computed as same_upper", lambda case, _: str(case.attributes.auto_pad) == "same_lower"
    ),
    "PadsSwappedAndBiasDoubled": Played(
        "two bugs: pads_begin and pads_end are exchanged; the bias is added twice",
        lambda case, _: _pads_differ(case) or _has_bias(case),
    ),
    "OverlapsStored": Played(
        "where taps overlap, the last one in the order of positions is stored, and nothing is added"
        " (it knows NCX alone)",
        None,
        ("padding/pads/**", "strides-dilations/**[data_format=NCX]"),
    ),
    "OverlapsStoredBackwards": Played(
        "where taps overlap, the first one in the order of positions is kept, and nothing is added"
        " (it knows NCX alone)",
        None,
        ("padding/pads/**", "strides-dilations/**[data_format=NCX]"),
    ),
    # Lost bits.
    "HalfResults": Played("results in f32 are rounded to f16", lambda case, _: str(case.x.dtype) == "f32", REAL),
    "Tf32Operands": Played("data and filter are rounded to tf32", None, REAL),
    "Bf16Operands": Played("data and filter are rounded to bf16", None, REAL),
    "Bf16Truncated": Played("data and filter are truncated to bf16", None, REAL),
    "SubnormalOperandsFlushed": Played("subnormal numbers of data and filter are taken for zero", None, REAL),
    "SubnormalResultsFlushed": Played("subnormal results are zero", None, REAL),
    "InSinglePrecision": Played("all is computed in f32", lambda case, _: str(case.x.dtype) == "f64", REAL),
    "F16Sums": Played("each product is added in f16 (it knows NCX alone)", None, ("real-data/paths*",)),
    "ResultsTruncated": Played(
        "results in f16 and bf16 are rounded towards zero", lambda case, _: str(case.x.dtype) in {"f16", "bf16"}, REAL
    ),
    "RoundedUpFromOdd": Played(
        "results in bf16 are rounded up at half and more if the last bit is 1, and else truncated",
        lambda case, _: str(case.x.dtype) == "bf16",
        REAL,
    ),
    # What was seen in runtimes that nobody here has written.
    "OneTooLongUnderSame": Played(
        "under same_* the output has one element too many at the end of each axis, with output_shape and without it",
        lambda case, _: _same(case),
    ),
    "UnsetMemoryBesides": Played(
        "two bugs: pads_begin and pads_end are exchanged; the call with data of 3x2x4x3 returns memory that was never"
        " written (it varies)",
        lambda case, _: _pads_differ(case) or case.x.shape == (3, 2, 4, 3),
    ),
    "CrashesOnGroups": Played(
        "it crashes on every grouped call that is not depthwise", lambda case, _: case.kind_of_group == "grouped"
    ),
    "RefusesGroupsInNumbers": Played(
        "it refuses every grouped call that is not depthwise, with the numbers of the call in its message",
        lambda case, _: case.kind_of_group == "grouped",
    ),
    "LastChannelOf17": Played(
        "the last channel of a group is dropped if the channels a group are > 16 and = 1 modulo 16",
        lambda case, _: _channels(case) > 16 and _channels(case) % 16 == 1,
    ),
    "RowsBeyond32Skipped": Played(
        "output rows (the axis before the last) are zero from the 33rd on",
        lambda _, geometry: len(geometry.output) > 1 and geometry.output[-2] > 32,
    ),
    "FirstMultiplierForAll": Played(
        "all outputs of a depthwise channel are computed with the filter of its first one",
        lambda case, _: case.kind_of_group == "multiplier",
    ),
    "EndPaddingOfAxis1Ignored": Played(
        "pads_end of axis 1, the second one, is taken for 0",
        lambda case, _: len(case.attributes.pads_end or ()) > 1 and case.attributes.pads_end[1] != 0,  # type: ignore[index]
    ),
    "LimitedToLargest": Played(
        "results in f32 are limited to ±3.4e38, so that none is infinite", lambda case, _: str(case.x.dtype) == "f32"
    ),
    "DanglingUnderNxc": Played(
        "answers to data in NXC are memory that was given back: they vary",
        lambda case, _: _is_nxc(case),
        ("strides-dilations/grid/*", "batch/**"),
    ),
    "IntegerBits": Played(
        "the results of depthwise calls in f32 are the bits of integers, taken for floats",
        lambda case, _: case.kind_of_group in {"depthwise", "multiplier"} and str(case.x.dtype) == "f32",
    ),
    "PadsAroundData": Played(
        "explicit pads are put around the data, and the output is cut to its size: pads_begin acts as -pads_begin * s",
        lambda case, geometry: _explicit(case) and any(begin > 0 for begin in geometry.pads_begin),
    ),
    "on-the-data": Played(
        "explicit pads are put around the data, and the output is cut to its size: pads_begin acts as -pads_begin * s",
        lambda _, geometry: any(begin > 0 for begin in geometry.pads_begin),
        spec="wrong_backends:PadsAroundData",
        cases=ON_THE_DATA,
    ),
    "WrongByChanceAtStride3": Played(
        "the last element of about one call of three with a stride of 3 is wrong: a race",
        lambda case, _: 3 in (case.attributes.strides or ()),
        ("strides-dilations/grid/*",),
    ),
    "NoDevice": Played("it refuses invalid calls, and has no device for the others", lambda *_: True),
    # Real runtimes. Of these the bugs are known from their answers, formulas and source.
    "opencv": Played(
        "f16 is answered in f32, and f64 refused; output_shape is ignored beside explicit pads, and refused beside a"
        " padding mode; same_* crops as a forward convolution does; an empty output is None; a stride of 0 kills it",
        # Which sums of NaN and infinity its kernels skip may depend on the processor. A call of dtypes/lists is not
        # asked: its answer holds memory that nobody wrote, so each process gives another one.
        patterns=(*SMALL, "dtypes/attributes", "dtypes/unreached", "empty/**", "invalid/**"),
        spec="opencv",
        needs="cv2",
    ),
    "tract": Played(
        "under same_* output_padding is subtracted from the size; calls with (K-1)*d < s on an axis are refused there",
        None,
        (*SMALL[:4], "padding/auto-pad/**", "padding/pads/**", *SMALL[5:], "batch/**"),
        spec="tract",
        needs="tract",
    ),
    "mlx": Played(
        "a padding of (K-1)*d + n crops (K-1)*d + n*s elements, and is refused if nothing is left; grouped volumes are"
        " refused; without output channels a call to BLAS ends the process",
        spec="recorded_runtime:Mlx",
        tier="gate",
    ),
    "mnn": Played(
        "pads under same_* are (K-s)/2, and those of output_shape leave out dilations and output_padding; results"
        " beside output_shape are bits of integers if a group has as many outputs as channels; NaN and infinities"
        " of packed channels become ±3.4e38; some paddings, groups of filters that are no constants and all volumes"
        " fail",
        spec="recorded_runtime:Mnn",
        tier="gate",
    ),
    "tvm": Played(
        "output_shape is ignored, and the size under same_* is at most what the taps reach; channels=0 is memory that"
        " was never written; output_padding of a stride or more is refused; no four axes, no symbols",
        spec="recorded_runtime:Tvm",
    ),
}


CHOSEN = part(list(RUNTIMES), 2)
"""In the profile `quick` every second one: each is a whole run."""


@cache
def _corpus() -> Corpus:
    return Corpus.load()


@pytest.mark.thorough
@pytest.mark.parametrize("name", CHOSEN)
def test_the_causes_of_a_wrong_runtime_are_those_of_its_golden_file(
    name: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No line changes unless its file does, and no failure of a valid call is one that the bug does not change."""
    played = RUNTIMES[name]
    if played.needs:
        pytest.importorskip(played.needs)
    monkeypatch.setenv(SEED, "1")
    run = result_of(name, played, command, tmp_path)
    if played.changes is not None:
        assert [case for case in failures_of_valid_calls(run, played, tmp_path) if not played.changes(*case)] == []
    text = golden_text(name, played, run)
    file = GOLDEN / f"{name}.txt"
    if WRITES:
        GOLDEN.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


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


def failures_of_valid_calls(run: dict[str, Any], played: Played, folder: Path) -> list[tuple[Case, Geometry]]:
    """Return the failed cases of which values are expected, each with its geometry."""
    corpus = Corpus.load(folder / "own.yaml") if played.cases else _corpus()
    dialect = find_dialect(run["dialect"])
    found = []
    for cause in run["causes"]:
        for case_id in cause["cases"] or () if cause["status"] == "failed" else ():
            case = corpus.find(case_id)
            assert case is not None
            expected = expect(case, dialect)
            if isinstance(expected, Values):
                found.append((case, expected.primary.geometry))
    return found


def golden_text(name: str, played: Played, run: dict[str, Any]) -> str:
    """Return a run as its golden file has it: the truth, the counts, and of each cause the line and the example."""
    counts = ", ".join(f"{count} {status}" for status, count in run["counts"].items() if count)
    lines = [
        *wrap(f"{name}: {played.truth}", 120, initial_indent="# ", subsequent_indent="#   "),
        f"# {run['tier']} tier, {run['dialect']}, {run['cases']} cases: {counts}",
    ]
    for cause in run["causes"]:
        head = f"{cause['status']} {cause['count']}, {' or '.join(cause['kinds'])}: "
        lines += ["", head.rstrip(" :"), *wrap(cause["what"], 116, initial_indent="    ", subsequent_indent="      ")]
        lines.append(f"    example: {cause['example']}")
    return "\n".join(lines) + "\n"


def test_every_golden_file_is_of_a_runtime() -> None:
    """None is left over."""
    assert {file.stem for file in GOLDEN.glob("*.txt")} == set(RUNTIMES)


def test_recorded_outcomes_are_small_and_each_case_has_one() -> None:
    """No case is in two lines, the counts of the header hold, and the files stay within what the repository gives."""
    files = sorted(FOLDER.glob("*.outcomes.xz"))
    assert sum(file.stat().st_size for file in files) <= LARGEST_RECORDS
    for file in files:
        header, outcomes = read(file.name.removesuffix(".outcomes.xz"))
        cases = [case for outcome in outcomes for case in outcome["cases"]]
        assert len(cases) == len(set(cases)) == header["asked"] - header["not-applicable"] - len(header["excluded"])
