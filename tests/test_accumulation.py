"""The type in which 16-bit products are added, found for each path on its own."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from small_corpus import BARE_HEAD, TIMEOUT, written
from strategies import part
from tconv.backends import Outcome, Produced
from tconv.corpus import Corpus
from tconv.dialects import find_dialect
from tconv.execution.accumulation import SumPath, path_of, probe
from tconv.execution.asking import Asking
from tconv.execution.pool import Pool
from tconv.records.record import Sums
from tconv.reports.notes import sums_found
from tconv.vocabulary import DType
from wrong_backends import LOG, F16Sums, Right, StepsIn16Bits, WrongAtFirst

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tconv.cases.call import Call
    from tconv.expectation.problem import Problem
    from tconv.records.record import Record
    from tconv.vocabulary import Array

ONNX = find_dialect("onnx/ConvTranspose-22")
KINDS: list[tuple[Any, bool]] = [
    *((kind, pointwise) for kind in ("dense", "grouped") for pointwise in (True, False)),
    *((kind, False) for kind in ("depthwise", "multiplier")),
]
PATHS = [
    SumPath(dtype, kind, pointwise, rank)
    for dtype in (DType.F16, DType.BF16)
    for kind, pointwise in KINDS
    for rank in (1, 2, 3)
]
REAL = f"""{BARE_HEAD}base: {{kernel: [3], spatial: [6], channels: 4, out_channels: 4, data: normal}}
sweeps:
  - name: real
    axes:
      dtype: [f16, bf16]
      kind:
        dense: {{channels: 8}}
        two: {{channels: 8, batch: 2}}
        depthwise: {{groups: 4}}
      seed: [1, 2, 3, 4]
"""


class _SumsInTheirType(F16Sums):
    """Products are added in the type of the operands."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        self.adds = arrays["x"].dtype
        return super().computed(call, words, arrays)


class _Zeros(Right):
    """Nothing but zeros, which a bound that says nothing allows."""

    def answer(self, y: Array) -> Outcome:
        return Produced(np.zeros_like(y))


def found(path: SumPath, backend: Right) -> DType | None:
    def ask(problem: Problem) -> Outcome:
        return backend.run(problem.call, dict(problem.arrays))

    return probe(path, ONNX, ask)


def run_on(backend: str, folder: Path, text: str = REAL, jobs: int = 1) -> list[Record]:
    """Return the records of a file's cases on one of `wrong_backends`."""
    cases = list(Corpus.load(written(folder, text)).cases())
    with Pool(Asking(f"wrong_backends:{backend}", timeout=TIMEOUT), jobs) as pool:
        return list(pool.records(cases).values())


def kinds_of(records: Iterable[Record], axis: str) -> Counter[tuple[str, str]]:
    """Return how often the cases of a value of an axis have which verdict, and by which accumulator."""
    return Counter((r.verdict.kind, str(r.accumulator)) for r in records if f"kind={axis}," in r.case)


@pytest.mark.parametrize("path", part(PATHS, 3), ids=lambda path: f"{path.dtype}-{path.filters}-{path.rank}")
def test_a_probe_finds_the_type_of_sums_on_each_path(path: SumPath) -> None:
    assert found(path, Right()) == found(path, WrongAtFirst()) == DType.F32
    assert found(path, _SumsInTheirType()) == path.dtype
    assert found(path, StepsIn16Bits()) == (DType.F32 if path.pointwise else path.dtype)
    assert found(path, _Zeros()) is None


def test_a_path_without_sums_has_no_probe(tmp_path: Path) -> None:
    text = REAL.replace("[f16, bf16]", "[f16, f32, f64]").replace("kernel: [3]", "kernel: [1]")
    paths = {
        case.facts["kind"]: path_of(case) for case in Corpus.load(written(tmp_path, text)).cases() if "f16" in case.id
    }
    assert paths["depthwise"] is None
    assert paths["dense"] == paths["two"] == SumPath(DType.F16, "dense", pointwise=True, rank=1)
    assert not any(path_of(case) for case in Corpus.load(tmp_path / "small.yaml").cases() if "f16" not in case.id)


def test_sums_in_16_bits_excuse_the_calls_of_their_path_alone(tmp_path: Path) -> None:
    records = run_on("NarrowDepthwise", tmp_path)
    assert kinds_of(records, "depthwise") == {("agreed", "f16"): 4, ("agreed", "bf16"): 4}
    assert kinds_of(records, "dense") == {("agreed", "f32"): 8}
    assert kinds_of(records, "two").keys() <= {("agreed", "f32"), ("differed", "f32")}
    assert kinds_of(records, "two")["differed", "f32"] > 4


def test_no_accumulator_excuses_a_lost_product(tmp_path: Path) -> None:
    """Wrong in real depthwise numbers of 16 bits alone: the probe finds no type that allows it, so f32 counts."""
    records = run_on("TapLostInDepthwise", tmp_path)
    assert kinds_of(records, "depthwise") == {("differed", "f32"): 8}
    found = {record.sums for record in records if "kind=depthwise," in record.case}
    assert {sums and sums.accumulator for sums in found} == {None}
    (note, other) = sums_found(records)
    assert "sums of bf16 for depthwise filters are judged as kept in f32" in note
    assert "sums of f16 for depthwise filters" in other
    assert kinds_of(records, "dense") == kinds_of(records, "two") == {("agreed", "f32"): 8}


def test_integers_start_no_probe_and_real_numbers_one_for_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With integers each call is a case. With real numbers each path has a call more for channels, and one for taps."""
    monkeypatch.setenv(LOG, str(log := tmp_path / "log"))
    integers = run_on("Right", tmp_path, REAL.replace("data: normal", "data: integers"))
    assert len(log.read_text().splitlines()) == len(integers)
    assert not any(record.sums for record in integers)
    log.unlink()
    real = run_on("Right", tmp_path)
    probes = sum(1 if path.kind == "depthwise" else 2 for path in set(map(path_of, _cases_in(tmp_path))) if path)
    assert len(log.read_text().splitlines()) == len(real) + probes
    assert all(record.sums for record in real)


def _cases_in(folder: Path) -> list[Any]:
    return list(Corpus.load(folder / "small.yaml").cases())


def test_all_workers_judge_by_the_same_sums(tmp_path: Path) -> None:
    records = run_on("F16Sums", tmp_path, REAL.replace("[1, 2, 3, 4]", str([*range(1, 17)])), jobs=3)
    narrow = {record.sums for record in records if "dtype=f16," in record.case}
    kinds = {path.filters for case in _cases_in(tmp_path) if (path := path_of(case))}
    assert narrow == {Sums(DType.F16, kind, 1, DType.F16) for kind in kinds}


@pytest.mark.parametrize("backend", ["DiesInProbes", "HangsInProbes"])
def test_a_probe_that_ends_the_worker_is_no_cases_fault_and_is_asked_once(
    backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its path is judged as kept in f32, the others are probed, and each case has its own verdict."""
    monkeypatch.setenv(LOG, str(log := tmp_path / "log"))
    records = run_on(backend, tmp_path)
    assert Counter(record.verdict.kind for record in records) == {"agreed": len(records)}
    assert not any(record.alone for record in records)
    found = {record.sums for record in records if record.sums and "dtype=f16," in record.case}
    assert {sums.filters for sums in found if sums.accumulator} == {"depthwise"}
    assert {sums.filters for sums in found if not sums.accumulator} == {"dense"}
    assert any("ended the runtime" in note for note in sums_found(records))
    channels = [int(line.split(", ")[1]) for line in log.read_text().splitlines()]
    assert sum(count >= 32 for count in channels) == len(("f16", "bf16"))
