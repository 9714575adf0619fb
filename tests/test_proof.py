"""`tconv waivers prove` runs each waiver's example alone, and says whether its reason still stands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from made_records import DIALECT, waiver, waiver_file
from small_corpus import TIMEOUT, written
from tconv.backends import machine
from tconv.corpus import Corpus
from tconv.gate.proof import Prover, Standing
from tconv.gate.waivers import Pin
from wrong_backends import LOG

if TYPE_CHECKING:
    from pathlib import Path

    from small_corpus import Command

SPEC = "wrong_backends:PadsSwapped"
PADDED = {"cases": "small/*", "example": "small/padded"}


def proved(folder: Path, *waivers: dict[str, Any], spec: str = SPEC) -> list[tuple[str, Standing, str]]:
    """Return dialect, standing and the verdict's kind or the reason, for each waiver and dialect."""
    prover = Prover(spec, Corpus.load(written(folder)), TIMEOUT)
    return [
        (proof.dialect, proof.standing, proof.reason or (proof.record.verdict.kind if proof.record else ""))
        for proof in prover.proofs(waiver_file(*waivers))
    ]


def test_a_reason_stands_where_the_example_deviates_as_the_waiver_says(tmp_path: Path) -> None:
    """In each of its dialects; the diagnosis is a part of what it says."""
    dialects = [DIALECT, "onnx/ConvTranspose-11"]
    found = proved(tmp_path, waiver(**PADDED, dialects=dialects, diagnosis=["pads-exchanged"]))
    assert found == [(dialect, Standing.STANDS, "differed") for dialect in dialects]


@pytest.mark.parametrize(
    ("settings", "instead"),
    [
        ({"example": "small/plain"}, "agreed"),
        ({"verdict": {"kind": "crashed"}}, "differed"),
        ({"verdict": {"kind": "differed", "wrong": 1}}, "differed"),
        ({"diagnosis": ["bias-doubled"]}, "differed"),
        ({"verdict": {"kind": "crashed"}, "versions": "==1.*", "after-others": True}, "differed"),
        ({"example": "small/gone"}, "it does not cover its example 'small/gone'; correct it"),
        ({"cases": "small/after"}, "it does not cover its example 'small/padded'; correct it"),
    ],
    ids=str,
)
def test_a_reason_stands_no_longer_where_anything_else_happens(
    settings: dict[str, Any], instead: str, tmp_path: Path
) -> None:
    """It agrees, deviates otherwise, has another explanation, or is no example; what happened is told."""
    assert proved(tmp_path, waiver(**PADDED | settings)) == [(DIALECT, Standing.FALLEN, instead)]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"versions": ">=2"}, "for versions >=2"),
        ({"machine": {"with": ["sme"], "without": ["avx2"]}}, "for machines with sme, without avx2"),
        ({"dialects": ["onnx/ConvTranspose-1"]}, "the backend does not speak this dialect"),
        (
            {"example": "small/plain", "versions": "==1.*", "after-others": True},
            "it shows after other calls, and there were none",
        ),
    ],
    ids=str,
)
def test_a_reason_that_needs_another_version_machine_dialect_or_past_cannot_be_asked_here(
    settings: dict[str, Any], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That says nothing of the reason, so it is neither of the two."""
    monkeypatch.setattr(machine, "describe", lambda _: {"simd": "avx2"})
    (found,) = proved(tmp_path, waiver(**PADDED | settings))
    assert found[1:] == (Standing.NOT_HERE, reason)


def test_an_answer_to_an_invalid_example_does_not_end_a_reason_that_comes_by_chance(tmp_path: Path) -> None:
    """It is no failure: it says of the reason what an agreeing example says."""
    settings = {"example": "small/invalid", "verdict": {"kind": "crashed"}, "versions": "==1.*"}
    for chance, standing in ((True, Standing.NOT_HERE), (False, Standing.FALLEN)):
        known = waiver(**PADDED | settings | {"after-others": chance})
        ((_, found, _),) = proved(tmp_path, known, spec="wrong_backends:AcceptsEverything")
        assert found is standing


def test_an_example_that_the_dialect_cannot_say_cannot_be_asked_here(tmp_path: Path) -> None:
    """A waiver for several dialects may have an example in one of them alone."""
    text = written(tmp_path).read_text(encoding="utf-8") + "  - {name: many, with: {dtype: bf16}}\n"
    prover = Prover(SPEC, Corpus.load(written(tmp_path, text)), TIMEOUT)
    dialects = [DIALECT, "onnx/ConvTranspose-11"]
    proofs = list(prover.proofs(waiver_file(waiver(cases="small/*", example="small/many", dialects=dialects))))
    assert [proof.standing for proof in proofs] == [Standing.FALLEN, Standing.NOT_HERE]
    assert proofs[1].reason == "the dialect cannot express the example"


def test_each_example_runs_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process of its own, in which nothing was called before, no probe either."""
    log = tmp_path / "log"
    monkeypatch.setenv(LOG, str(log))
    prover = Prover(SPEC, Corpus.load(written(tmp_path)), TIMEOUT)
    log.unlink(missing_ok=True)
    waivers = (waiver(**PADDED), waiver(**PADDED, name="again"))
    assert [proof.standing for proof in prover.proofs(waiver_file(*waivers))] == [Standing.STANDS] * 2
    processes = [line.split()[0] for line in log.read_text(encoding="utf-8").splitlines()]
    assert len(processes) == len(set(processes)) == 2


def test_a_death_stands_as_any_deviation_does(tmp_path: Path) -> None:
    """The next example is run all the same."""
    dies = waiver(cases="small/trouble", example="small/trouble", verdict={"kind": "crashed", "cause": "SIGABRT"})
    plain = waiver(**PADDED, name="plain")
    standings = [found[1:] for found in proved(tmp_path, dies, plain, spec="wrong_backends:Aborts")]
    assert standings == [(Standing.STANDS, "crashed"), (Standing.FALLEN, "agreed")]


def test_the_command_prints_a_line_for_each_and_ends_with_1_where_one_has_fallen(
    command: Command, tmp_path: Path
) -> None:
    """The backend is that of the waiver file where none is named."""
    cases, file = written(tmp_path), tmp_path / "waivers.yaml"
    for example, code, line in (
        (
            "small/padded",
            0,
            "stands            PadsSwapped 1.0  onnx/ConvTranspose-22  known: small/padded: differed: ",
        ),
        (
            "small/plain",
            1,
            "stands no longer  PadsSwapped 1.0  onnx/ConvTranspose-22  known: small/plain: agreed: exact",
        ),
    ):
        made = waiver(**PADDED | {"example": example})
        # JSON is YAML.
        file.write_text(json.dumps({"format": 1, "backend": "PadsSwapped", "waivers": [made]}), encoding="utf-8")
        options = ("waivers", "prove", "--cases", str(cases), "--waivers", str(file))
        done = command(*options, "--backend", SPEC)
        first, last = done.stdout.splitlines()
        assert (done.returncode, first.startswith(line)) == (code, True)
        assert last == f"stands: {1 - code}, stands no longer: {code}, not here: 0"
    done = command(*options)
    assert done.returncode == 3
    assert "backend must be one of" in done.stderr


def test_no_waivers_prove_nothing(command: Command) -> None:
    """That none has fallen would be no answer."""
    done = command("waivers", "prove", "--backend", SPEC)
    assert (done.returncode, "there must be waivers to prove" in done.stderr) == (2, True)


def test_a_pin_that_no_case_tells_from_other_readings_cannot_be_asked_here(tmp_path: Path) -> None:
    """A line says so; it is not left out."""
    pin = Pin.model_validate({"dialects": [DIALECT], "question": "negative_same", "reading": "primary"})
    prover = Prover(SPEC, Corpus.load(written(tmp_path)), TIMEOUT)
    (proof,) = prover.proofs(waiver_file().model_copy(update={"pins": [pin]}))
    assert proof.standing is Standing.NOT_HERE
    assert proof.reason == "no case of the gate tier tells its reading from all others"


@pytest.mark.parametrize(
    ("reading", "standing"), [("negative-same-shrunk", Standing.STANDS), ("negative-same-appended", Standing.FALLEN)]
)
def test_a_pin_is_proved_by_two_cases(reading: str, standing: Standing, corpus: Corpus) -> None:
    """They are of the fewest elements, and no other reading gives what the pinned one gives there."""
    pin = {"dialects": [DIALECT], "question": "negative_same", "reading": reading}
    file = waiver_file(unsupported=({"where": {"dtype": ["f64", "bf16"]}, "because": "no kernel"},))
    file = file.model_copy(update={"pins": [Pin.model_validate(pin)]})
    found = list(Prover("onnxruntime", corpus, TIMEOUT).proofs(file))
    assert [proof.standing for proof in found] == [standing] * 2
    assert len({proof.record.case for proof in found if proof.record}) == 2
