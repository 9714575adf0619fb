"""The commands that a reader of the page may want next for a case. The script inserts the case id."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from tconv.records.headers import cases_option
from tconv.reports.phrases import reproduce_in
from tconv.verdict.kinds import Allowed, NotApplicable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.gate.status import RecordStatus
    from tconv.records.headers import RunHeader

CASE = "{case}"
"""The place of the case id: a shell needs quotes around it, so every id fits."""


def commands(header: RunHeader, member: RecordStatus) -> Iterator[tuple[str, str]]:
    """Yield each command with its purpose. Commands that cannot work for the verdict are left out.

    Args:
        header: the run.
        member: one of its records. For records with the same verdict and ruling, only the id in the commands differs.
    """
    record = replace(member.record, case=CASE)
    dialect, cases = ("--dialect", record.dialect), cases_option(header.path)
    asked = (*header.arguments, *dialect, *cases)
    yield "run", reproduce_in(header, replace(member, record=record))
    yield "show", shlex.join(["tconv", "show", CASE, *dialect, *cases])
    if isinstance(record.verdict, NotApplicable):
        return
    yield "explain", shlex.join(["tconv", "explain", CASE, *asked])
    # Its script has no options of a backend, and the command refuses them.
    backend = ("--backend", header.backend.spec or header.backend.name)
    yield "export", shlex.join(["tconv", "export", CASE, "models", *backend, *dialect, *cases])
    if not isinstance(record.verdict, Allowed):
        yield "shrink", shlex.join(["tconv", "shrink", CASE, *asked])
        yield "bug report", f"{shlex.join(['tconv', 'export', CASE, '--issue', *asked])} > report.md"
