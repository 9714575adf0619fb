"""A case that fails becomes the smallest one that fails alike, whatever the failure is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from made_records import named
from small_corpus import HEAD, written
from strategies import case, examples, signatures
from tconv.cases.case import Case, Operand
from tconv.cases.context import Context
from tconv.corpus import Corpus
from tconv.corpus.writing import settings
from tconv.dialects import find_dialect
from tconv.investigation.shrinking import shrunk, simpler
from tconv.records.failure import Failure, failure
from tconv.records.record import Record
from tconv.verdict import kinds as ver
from tconv.vocabulary import DType, Signature

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from small_corpus import Command

ROW = find_dialect("onnx/ConvTranspose-22")
LARGE = f"""{HEAD}
cases:
  - name: large
    with: {{spatial: [5, 6, 4], kernel: [3, 2, 4], batch: 2, strides: [2, 7, 3], dilations: 2, pads_begin: [1, 2, 0],
           pads_end: [3, 0, 2], dtype: f16, data: normal, seed: 3, shapes: symbolic, filter_source: input,
           data_format: NXC, filter_format: GIOX, kernel_shape: kernel}}
  - {{name: trouble, with: {{strides: 7, pads_end: 1}}}}
  - name: special
    with: {{spatial: [5, 6], kernel: [3, 2], x: {{data: special}}, pads_end: [1, 2]}}
"""
BARE: dict[str, Any] = {"spatial": [1], "kernel": [1]}
TRULY_MINIMAL: dict[str, tuple[str, dict[str, Any]]] = {
    "PadsSwapped": ("differed", {"spatial": [1], "kernel": [2], "pads_end": 1}),
    "BiasDoubled": ("differed", BARE | {"bias": True}),
    "DroppedTap": ("differed", BARE),
    "WrongShape": ("wrong-shape", BARE),
    "WrongDtype": ("wrong-dtype", BARE),
    "Raises": ("backend-error", BARE | {"bias": True}),
    "UnsupportedEverywhere": ("unsupported", BARE | {"bias": True}),
}
"""What is left of the large case: bias where the backend's message names its inputs."""


@pytest.fixture
def shrink(command: Command, tmp_path: Path) -> Command:
    cases = str(written(tmp_path, LARGE))
    return lambda backend, *arguments, name="large": command(
        "shrink", f"small/{name}", "--cases", cases, "--backend", f"wrong_backends:{backend}", *arguments
    )


def minimal(folder: Path) -> Case:
    return Corpus.load(folder / "minimal.yaml").case("minimal/minimal")


@pytest.mark.parametrize("backend", TRULY_MINIMAL)
def test_what_is_left_is_minimal(backend: str, shrink: Command, tmp_path: Path) -> None:
    kind, wanted = TRULY_MINIMAL[backend]
    assert shrink(backend, "--output", "minimal.yaml").returncode == 0
    found = minimal(tmp_path)
    assert settings(found) == wanted
    assert found.about.startswith(kind)


@pytest.mark.parametrize(("backend", "kind"), [("Hangs", "timed-out"), ("Aborts", "crashed")])
def test_what_costs_a_worker_is_shrunk(backend: str, kind: str, shrink: Command, tmp_path: Path) -> None:
    """Each case that hangs costs its time limit, too."""
    done = shrink(backend, "--timeout", "0.3", "--output", "minimal.yaml", name="trouble")
    assert done.returncode == 0
    again = f"tconv run --cases minimal.yaml --backend wrong_backends:{backend} "
    assert done.stdout.splitlines()[-1].startswith(f"minimal.yaml is written; then: {again}")
    found = minimal(tmp_path)
    assert settings(found) == BARE | {"strides": 7}
    assert found.about.startswith(kind)


def test_what_is_printed_is_a_case_file_that_fails(shrink: Command, command: Command, tmp_path: Path) -> None:
    done = shrink("NanReplaced", name="special")
    assert done.returncode == 0
    (tmp_path / "minimal.yaml").write_text(done.stdout, encoding="utf-8")
    assert settings(minimal(tmp_path)) == BARE | {"x": {"data": "special"}}
    first, _, again, *_ = done.stdout.splitlines()
    assert first.startswith("# differed: 1 of 1 elements; [0,0,0] must be nan (got 0)")
    save = "# save this as minimal.yaml, or give --output minimal.yaml; then: "
    assert again.startswith(f"{save}tconv run --cases minimal.yaml --backend wrong_backends:Nan")
    failed = command(*again.split(": ")[1].split()[1:])
    assert failed.returncode == 1
    assert "failed" in failed.stdout


def test_a_disputed_case_is_not_said_to_fail(command: Command) -> None:
    disputed = "padding/output-shape/negative-total-by-hand"
    done = command("shrink", disputed, "--backend", "onnxruntime")
    assert f"The smallest case that is answered as {disputed} is." in " ".join(done.stdout.split())


def test_the_diagnosis_stays(shrink: Command) -> None:
    """The smallest case that fails at all is another one: one that fails for the same reason is wanted."""
    done = shrink("PadsSwapped", name="special")
    assert done.returncode == 0
    assert "pads-exchanged" in done.stdout.splitlines()[0]


def test_a_case_that_passes_is_not_shrunk(shrink: Command) -> None:
    done = shrink("Right")
    assert (done.returncode, done.stderr) == (1, "tconv: a case must fail to be shrunk (got agreed: bound)\n")


def test_a_file_that_cannot_be_written_is_told(shrink: Command) -> None:
    done = shrink("DroppedTap", "--output", "small.yaml/minimal.yaml")
    assert done.returncode == 2
    assert done.stderr.startswith("small.yaml/minimal.yaml: must be a file that can be written")


# The search by itself: a function stands for the backend.


def smallest(original: Case, fails: Callable[[Case], bool]) -> dict[str, Any]:
    found = shrunk(original, None, ROW, lambda candidate: True if fails(candidate) else None)
    assert fails(found.case)
    return settings(found.case)


def grouped(groups: int) -> Case:
    return case(
        (6, 7), (3, 4), batch=3, channels=2 * groups, filters=3, groups=groups, bias=(3 * groups,), strides=(2, 3)
    )


def test_channels_are_as_many_as_the_groups() -> None:
    assert smallest(grouped(4), lambda original: (original.attributes.groups or 1) >= 2) == BARE | {
        "channels": 2,
        "out_channels": 2,
        "groups": 2,
    }
    assert smallest(grouped(4), lambda original: original.b is not None and original.w.shape[1] >= 2) == BARE | {
        "out_channels": 2,
        "bias": True,
    }


def test_sizes_are_as_small_as_they_can_be() -> None:
    original = case((3000,), (1000,), dilations=(2,))
    count = 0

    def fails(tried: Case) -> bool:
        nonlocal count
        count += 1
        return tried.x.shape[2] >= 117 and tried.w.shape[2] >= 3

    assert smallest(original, fails) == {"spatial": [117], "kernel": [3]}
    assert count < 1500


def test_a_level_that_is_not_needed_is_left_out() -> None:
    context = Context(data="int8", before="pad-begin", arithmetic="mul", activation="relu", end="int8")
    large = case((4, 3), (3, 2), context=context, data_format="NCX", filter_format="IOX")
    fused = shrunk(large, "", ROW, lambda each: "" if {"mul", "relu"} <= {*each.context.levels.values()} else None)
    assert fused.case.context == Context(arithmetic="mul", activation="relu")
    assert not shrunk(large, "", ROW, lambda _: "").case.context


def test_an_axis_that_is_needed_stays() -> None:
    original = case((4, 5, 6), (2, 3, 4), strides=(1, 2, 3), pads_end=(1, 2, 3))
    assert smallest(original, lambda tried: 2 in (tried.attributes.strides or ())) == BARE | {"strides": 2}
    two = smallest(original, lambda tried: len(tried.x.shape) == 4)
    assert two == {"spatial": [1, 1], "kernel": [1, 1]}


def test_an_output_shape_is_kept_as_far_from_the_full_size() -> None:
    """Where the crop is what fails, and not the size."""
    original = case((5,), (3,), strides=(2,), output_shape=(9,))
    found = smallest(
        original,
        lambda tried: (
            tried.attributes.output_shape is not None
            and tried.attributes.output_shape[0]
            < (tried.x.shape[2] - 1) * (tried.attributes.strides or (1,))[0] + tried.w.shape[2]
        ),
    )
    assert found == {"spatial": [1], "kernel": [2], "output_shape": [1]} or found == BARE | {"output_shape": [0]}


def test_literal_values_are_cut_with_their_operand() -> None:
    """What is left of them is left; another size has other elements."""
    values = tuple(float(number) for number in range(12))
    original = replace(case((3, 4), (1, 1)), x=Operand((1, 1, 3, 4), DType.F32, "values", 0, values))
    assert smallest(original, lambda tried: 5.0 in tried.x.values) == {
        "spatial": [2, 2],
        "kernel": [1, 1],
        "x": {"values": [0.0, 1.0, 4.0, 5.0]},
    }


def test_a_constraint_that_is_broken_for_nothing_is_not_broken() -> None:
    original = case((4,), (3,), auto_pad="same_upper", pads_begin=(1,), breaks="pads-without-auto-pad")
    assert smallest(original, lambda tried: tried.attributes.auto_pad is not None) == BARE | {"auto_pad": "same_upper"}
    kept = smallest(original, lambda tried: tried.breaks is not None and tried.attributes.pads_begin is not None)
    assert kept["breaks"] == "pads-without-auto-pad"


@given(signatures())
@examples(6)
def test_what_is_simpler_is_never_the_same_nor_comes_back(signature: Signature) -> None:
    """So the search ends: each step can be built, and none leads to where another began."""
    original = case(signature.spatial, signature.kernel, batch=2, channels=1, filters=2, bias=(2,))
    original = replace(original, attributes=replace(signature.attributes, groups=None))
    steps = list(simpler(original))
    assert steps
    for step in steps:
        assert all(back.content != original.content for back in simpler(step))


# When two failures are one.


def record(verdict: ver.Verdict, *diagnosis: str) -> Record:
    return Record("a/b/c", "made", ROW.name, verdict, diagnosis=named(*diagnosis))


DIFFERED = ver.Differed("exact", 1, 2, (0, 0, 0), 1.0, 2.0)


def test_failures_are_one_by_diagnosis_or_words() -> None:
    one = failure(record(DIFFERED, "filter-flipped", "one-too-late"))
    assert one is not None
    assert one.alike(failure(record(DIFFERED, "one-too-late")))
    assert not one.alike(failure(record(DIFFERED, "bias-doubled")))
    assert not one.alike(failure(record(DIFFERED)))
    assert not one.alike(failure(record(ver.WrongShape((1,), (2,)), "one-too-late")))
    refused = failure(record(ver.RefusedValid("no kernel for [1, 2, 3] in node 7")))
    assert refused is not None
    assert refused.alike(failure(record(ver.RefusedValid("no kernel for [4, 5] in node 12"))))
    assert not refused.alike(failure(record(ver.RefusedValid("no memory for [4, 5] in node 12"))))


def test_deaths_are_alike_by_their_reason_and_not_by_what_varies() -> None:
    """Two panics of one line of code are alike whatever thread and address; two of one signal are not."""

    def died(text: str) -> Failure | None:
        return failure(record(ver.Crashed("SIGABRT", text)))

    one = died("progress 3\nthread 'worker-7' panicked at /a/x.rs:1:2:\nno axis 3\n 0: 0x7f12")
    assert one is not None
    assert one.alike(died("progress 4\nthread 'worker-12' panicked at /b/c/x.rs:1:2:\nno axis 5\n 0: 0x7e99"))
    assert not one.alike(died("thread 'worker-7' panicked at /a/x.rs:1:2:\nno kernel"))
    assert died("progress 3") == died("progress of another kind")


@pytest.mark.parametrize("verdict", [ver.Agreed("exact"), ver.NotApplicable("no word for it")])
def test_what_passes_is_no_failure(verdict: ver.Verdict) -> None:
    assert failure(record(verdict)) is None
    assert not Failure("differed", (), "").alike(failure(record(verdict)))
