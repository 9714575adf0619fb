"""A failure in plain lines: the verdict, the call, and how to run it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv.gate.status import Status
from tconv.reports.phrases import explanation as explained
from tconv.reports.phrases import phrase, reproduce, tolerance
from tconv.shown_texts import one_line
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tconv.gate.status import RecordStatus

_MOST_LINES = 20


def of(member: RecordStatus, backend: str, root: Path) -> Iterator[str]:
    """Yield the lines of a failure, the first of which is a summary.

    Args:
        member: the record of the failure, with its status.
        backend: how the settings name the backend; it may not be found by the name that it gives itself.
        root: the case file, or the folder of case files, that the case is in.
    """
    record = member.record
    reason = member.reason if member.status is Status.FAILED else ""
    yield f"{record.verdict.kind}: {reason or phrase(record.verdict)}"
    yield _line("case", record.case)
    yield _line("backend", f"{record.backend}, speaking {record.dialect}")
    if record.call is not None:
        words = ", ".join(f"{name}={value!r}" for name, value in record.call.attributes.items())
        inputs = ", ".join(f"{name} {dtype} {shape}" for name, shape, dtype in record.call.inputs)
        yield _line("call", words or "no attribute")
        yield _line("inputs", f"{inputs}, in {record.call.data_format} and {record.call.filter_format}")
    yield from _compared(record.verdict)
    if why := explained(record):
        yield _line("explained", why)
    if derived := tolerance(record):
        yield _line("tolerance", derived)
    yield _line("reproduce", reproduce(record, ("--backend", backend), str(root)))


def _compared(verdict: ver.Verdict) -> Iterator[str]:
    match verdict:
        case ver.Differed() | ver.ExceedsSummationBound():
            at = ",".join(map(str, verdict.first))
            yield _line("expected", f"{verdict.expected:.9g} at [{at}]")
            yield _line("actual", f"{verdict.actual:.9g} at [{at}]")
        case ver.WrongShape(expected, actual):
            yield _line("expected", str(list(expected)))
            yield _line("actual", str(list(actual)))
        case ver.WrongDtype(expected, actual):
            yield _line("expected", expected)
            yield _line("actual", actual)
        case ver.RefusedValid(message):
            yield _line("expected", "a value")
            yield _line("actual", f"a refusal: {one_line(message)}")
        case ver.Died(_, stderr):
            for line in stderr.splitlines()[-_MOST_LINES:]:
                yield _line("printed", one_line(line))
        case _:
            pass


def _line(name: str, text: str) -> str:
    return f"  {name:<10} {text}"
