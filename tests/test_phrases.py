"""A verdict is written in one line, and the command that runs a case again can be pasted."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from made_records import header, named
from tconv.expectation.bound import SYMBOLS
from tconv.gate.entries import ActiveEntries
from tconv.gate.status import ReadingChanged
from tconv.records.headers import WaiversHeader
from tconv.records.record import Record
from tconv.reports.commands import reproduce, reproduce_in
from tconv.reports.phrases import headline, phrase, summary, tolerance
from tconv.verdict import kinds as ver

MESSAGE = "first\n\tsecond \x1b[31mred\x1b[0m\x07\n"
ESCAPED = r"first second \x1b[31mred\x1b[0m\x07"


@pytest.mark.parametrize(
    ("verdict", "text"),
    [
        (ver.Crashed("SIGKILL", ""), "SIGKILL"),
        (ver.Crashed("exit code 3", "one\ntwo\n"), "exit code 3: two"),
        (ver.Crashed("SIGABRT", "2026-11-23 06:59:30.501666359 [W:arena] tried to"), "SIGABRT: [W:arena] tried to"),
        (ver.Crashed("SIGABRT", "[2026-11-23T06:59:30Z] no kernel\n"), "SIGABRT: no kernel"),
        (ver.Crashed("SIGABRT", "2026-11-23 06:59:30\n"), "SIGABRT: 2026-11-23 06:59:30"),
        # A fault comes without words: the line before it may say anything.
        (ver.Crashed("SIGFPE", "[cpuinfo_utils.cpp:125] the numbers of processors differ"), "SIGFPE"),
        (ver.Crashed("SIGSEGV", "a.c:3: Assertion `n' failed.\nloading"), "SIGSEGV: a.c:3: Assertion `n' failed."),
        (ver.Crashed("SIGABRT", MESSAGE), r"SIGABRT: second \x1b[31mred\x1b[0m\x07"),
        (
            ver.Crashed("SIGABRT", "loading\nthread 'main' panicked at src/a.rs:1:2:\nno kernel\nnote: run with ...\n"),
            "SIGABRT: thread 'main' panicked at src/a.rs:1:2: no kernel",
        ),
        (
            ver.Crashed(
                "SIGABRT", "terminate called after throwing an instance of 'E'\n  what():  no kernel\nAborted\n"
            ),
            "SIGABRT: terminate called after throwing an instance of 'E' what(): no kernel",
        ),
        (
            ver.Crashed("SIGABRT", "a: b.c:7: f: Assertion `s < 7' failed.\nbye\n"),
            "SIGABRT: a: b.c:7: f: Assertion `s < 7' failed.",
        ),
        (
            ver.Crashed(
                "SIGABRT", "=====\n==7==ERROR: AddressSanitizer: SEGV on address 0x1\n    #0 0x2 in f\nABORTING\n"
            ),
            "SIGABRT: ==7==ERROR: AddressSanitizer: SEGV on address 0x1",
        ),
        (ver.RefusedValid(MESSAGE), ESCAPED),
        (ver.BackendError(MESSAGE), ESCAPED),
        (ver.Unstable(MESSAGE), ESCAPED),
        (ver.Unsupported(MESSAGE), ESCAPED),
        (ver.NotApplicable(MESSAGE), ESCAPED),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_what_a_phrase_says(verdict: ver.Verdict, text: str) -> None:
    """Of a death the line that says why; a runtime's own words in one line, without its escape codes."""
    assert phrase(verdict) == text


def test_a_summary_is_one_line_of_what_came_and_why() -> None:
    """Of a verdict that says nothing the kind alone; an explanation is added where there is one."""
    record = Record("a/b", "acme", "onnx/ConvTranspose-22", ver.RefusedValid(MESSAGE))
    assert headline(record.verdict) == f"refused-valid: {ESCAPED}"
    assert summary(record) == f"refused-valid: {ESCAPED}"
    assert summary(replace(record, verdict=ver.RefusedValid(""))) == "refused-valid"
    explained = replace(record, verdict=ver.TimedOut(0.5), diagnosis=named("pads-exchanged"))
    assert summary(explained) == "timed-out: no answer within 0.5 s; as if pads-exchanged"


def test_the_command_that_asks_again_is_quoted_for_the_shell() -> None:
    """An id has brackets, a backend's name may have anything."""
    record = Record("a/b[s=1]", "my backend", "onnx/ConvTranspose-22", ver.Agreed("exact"))
    words = ["tconv", "run", "a/b[s=1]", "--backend", "my backend", "--dialect", "onnx/ConvTranspose-22"]
    none = ["--waivers", "none"]
    assert shlex.split(reproduce(record)) == [*words, *none]
    words[4] = "exec:run me"
    asked = reproduce(record, ("--backend", "exec:run me"), "my cases")
    assert shlex.split(asked) == [*words, "--cases", "my cases", *none]
    accepted = replace(record, verdict=ver.AcceptedInvalid("pads-length", stated=True))
    assert shlex.split(reproduce(accepted))[-3:] == [*none, "--strict"]
    # A pin of the file of waivers says that it failed.
    change = ReadingChanged("same", "primary", "other", (), "exact")
    changed, agreed = (ActiveEntries().assign_status(record, {}, ruling) for ruling in (change, None))
    run = header().model_copy(update={"waivers": WaiversHeader(file="mine.yaml", digest="d")})
    assert "--waivers" not in reproduce_in(header(), changed)
    assert "--waivers mine.yaml" in reproduce_in(run, changed)
    assert "--waivers none" in reproduce_in(run, agreed)


@pytest.mark.parametrize(
    ("verdict", "derived", "told"),
    [
        (ver.Differed("bound", 1, 8, (0,), 0.1, 0.2, 12.5), "gamma_n(2^-24)*A", f"gamma_n(2^-24)*A; {SYMBOLS}"),
        (ver.Differed("exact", 1, 8, (0,), 1.0, 2.0), "exact: integers", "exact: integers"),
        (ver.BackendError("oh"), None, ""),
    ],
    ids=["bound", "exact", "none"],
)
def test_the_letters_of_a_tolerance_are_explained(verdict: ver.Verdict, derived: str | None, told: str) -> None:
    """Where a formula is shown, it is said what n and A are, and where more of it stands; integers have no formula."""
    record = Record("a/b", "acme", "onnx/ConvTranspose-22", verdict, 0.1, tolerance=derived)
    assert tolerance(record) == told
    assert not told.endswith(SYMBOLS) or ("n: " in told and "A: " in told and "docs/why/numerics.md" in told)
