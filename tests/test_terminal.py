"""The closing table tells what a person can act on, on a terminal of any width and in a pipe."""

from __future__ import annotations

import io
import re
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from made_records import AGREED, CASES, DIFFERED, EVERY_RULING, facts, ruled, run_of, waiver, waiver_file
from reporting import red_lines, run_report
from tconv.cli import output
from tconv.gate.assessment import Assessment, assess
from tconv.gate.status import Status
from tconv.records.record import Sums
from tconv.reports import terminal
from tconv.reports.notes import sums_found
from tconv.reports.words import STATUSES
from tconv.verdict import kinds as ver
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Callable

ESCAPE = "\x1b"
LONG = "padding/output-shape/crop[auto_pad=same_upper,output_shape=full-1,strides=2x3,output_padding=0x1]"


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        """It is one."""
        return True


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[Assessment, int], str]:
    def show(assessment: Assessment, width: int) -> str:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", screen := Screen())
            patch.setenv("COLUMNS", str(width))
            terminal.show(run_report(assessment), None, "verbose")
        return screen.getvalue()

    return show


def everything() -> Assessment:
    """Return an assessment with every verdict, a waiver that is used and too wide, and a stale one."""
    rulings = {f"a/{ruling.kind}/{number}": ruling for number, ruling in enumerate(EVERY_RULING)}
    rulings |= {CASES[0]: DIFFERED, CASES[1]: AGREED, LONG: ver.Crashed("SIGABRT", f"{ESCAPE}[31mred{ESCAPE}[0m\x07")}
    stale = waiver(name="gone", cases="a/d", example="a/d/e")
    return ruled(assess(run_of(rulings | {CASES[3]: AGREED}), waiver_file(waiver(), stale), facts), rulings)


def test_every_status_is_shown_by_every_report() -> None:
    assert set(STATUSES) == set(Status)
    assert len({look.symbol for look in STATUSES.values()}) == len(Status)


def lines_without_ids(text: str) -> list[str]:
    """Return the lines but for the head and those with an id or a command, which stay whole in every width."""
    return [line for line in text.splitlines() if not ("tconv " in line or "onnx/" in line or "=" in line)]


def test_a_pipe_is_as_wide_as_columns_says(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences are folded at a width that can be read, and nothing is padded, unless someone asks for less."""
    for asked, width in ((None, 120), ("70", 70)):
        if asked:
            monkeypatch.setenv("COLUMNS", asked)
        terminal.show(run_report(everything()), None, "verbose")
        out = capsys.readouterr().out
        assert width - 20 < max(map(len, lines_without_ids(out))) <= width
        assert all(line == line.rstrip() for line in out.splitlines())


@pytest.mark.parametrize("columns", ["0", "1", "\N{SUPERSCRIPT TWO}", "9" * 5000, "-1", "wide", ""])
def test_whatever_columns_says_all_is_printed(
    columns: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A width that is none, or too small for a word, loses no verdict and no command."""
    monkeypatch.setenv("COLUMNS", columns)
    terminal.show(run_report(everything()), None, "verbose")
    narrow = capsys.readouterr().out
    monkeypatch.delenv("COLUMNS")
    terminal.show(run_report(everything()), None, "verbose")
    assert narrow.split() == capsys.readouterr().out.split()


@pytest.mark.parametrize("variable", [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_terminal_has_colours_unless_they_are_unwanted(
    variable: tuple[str, str], on_terminal: Callable[[Assessment, int], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert ESCAPE in on_terminal(everything(), 80)
    monkeypatch.setenv(*variable)
    assert ESCAPE not in on_terminal(everything(), 80)


@pytest.mark.parametrize("width", [70, 80, 200])
def test_a_narrow_terminal_folds_sentences_and_no_id(width: int, on_terminal: Callable[[Assessment, int], str]) -> None:
    """No sentence is too long or cut; an id and a command are whole on a line, so that they can be copied."""
    text = re.sub(rf"{ESCAPE}\[[0-9;]*m", "", on_terminal(everything(), width))
    assert max(map(len, lines_without_ids(text))) <= width
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    assert any(line.startswith(f"        tconv explain '{LONG}' --backend acme") for line in text.splitlines())
    flowing = "".join(text.split())
    for sentence in red_lines(everything()):
        assert "".join(f"red: {sentence}".split()) in flowing


@pytest.mark.parametrize(
    ("found", "where"),
    [
        ((), None),
        ((Sums(DType.F16, "dense", 2, DType.F32),), None),
        (
            (Sums(DType.F16, "dense", 2, DType.F16), Sums(DType.F16, "depthwise", 1, DType.F16)),
            "f16 for dense, depthwise filters",
        ),
        ((Sums(DType.F16, "dense", 2, DType.F16), Sums(DType.F16, "dense", 2, DType.F32)), "f16 for dense filters"),
        (
            (Sums(DType.F16, "dense", 2, DType.F32), *(Sums(DType.F16, "depthwise", n, DType.F16) for n in (1, 2))),
            "f32, but in f16 for depthwise filters",
        ),
        (
            (Sums(DType.F16, "dense", 2, DType.F32), *(Sums(DType.F16, "dense", n, DType.F16) for n in (1, 3))),
            "f32, but in f16 for dense 1-D, dense 3-D filters",
        ),
    ],
)
def test_sums_in_16_bits_are_named_by_the_filters_that_they_are_found_for(
    found: tuple[Sums, ...], where: str | None
) -> None:
    """All of a type, all filters of a kind, or those of some ranks; where two disagree, the less precise one counts."""
    records = [replace(record, sums=sums) for record in run_of({CASES[0]: AGREED}).records for sums in (None, *found)]
    said = list(sums_found(records))
    assert [text.partition(" are kept in ")[2].partition(", as ")[0] for text in said] == ([where] if where else [])


def test_the_largest_causes_are_whole_and_the_others_counted(capsys: pytest.CaptureFixture[str]) -> None:
    """The largest causes come first; how many more there are is said, and --verbose prints all of them."""
    verdicts: dict[str, ver.Verdict] = {f"a/b/c{number}": DIFFERED for number in range(63)}
    verdicts |= {f"a/b/most[s={number}]": DIFFERED for number in range(2)}
    assessment = assess(run_of(verdicts), None, facts)
    terminal.show(run_report(assessment), None)
    out = capsys.readouterr().out
    assert out.count("Returns wrong values in") == 60
    assert out.count("tconv explain") == 8
    assert out.index("a/b/most") < out.index("a/b/c0")
    assert "and 4 more causes; --verbose lists them" in out
    terminal.show(run_report(assessment), None, "verbose")
    assert capsys.readouterr().out.count("tconv explain") == 64


def test_lines_fit_a_narrow_terminal_and_ids_stay_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What goes on is indented; a pipe has every line as it is."""
    case = "padding/output-shape/grow[auto_pad=same_upper,output_shape=full+2,strides=3]"
    text = f"  cites onnx: {'a word, ' * 12}\n    of {case} too\nshort"
    output.print_text(text)
    assert capsys.readouterr().out == f"{text}\n"
    monkeypatch.setattr(sys, "stdout", screen := Screen())
    monkeypatch.setenv("COLUMNS", "60")
    output.print_text(text)
    lines = screen.getvalue().splitlines()
    assert [line for line in lines if len(line) > 60] == [f"        {case}"]
    assert [line[:10] for line in lines[:2]] == ["  cites on", "      word"]
    assert lines[-1] == "short"
