"""Wrong outputs asked once more: whether their values are the backend's, or what memory held that was never written.

Such values differ from run to run without a change of the backend. Alone in a fresh process they may be the same each
time, as its memory is zero. So free memory is filled while the call is asked again.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from tconv.errors import TconvError
from tconv.execution.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.cases.case import Case
    from tconv.execution.asking import Asking
    from tconv.records.record import Record
    from tconv.records.record_file import Run


def of_unset_memory(run: Run, asking: Asking, jobs: int, find: Callable[[str], Case | None]) -> list[Record]:
    """Return, without their digests, the records whose wrong outputs have another digest when they are asked again.

    If a case has no answer then, nothing is known of its values, and its digest is left out too.

    Args:
        run: the records.
        asking: how the backend was asked.
        jobs: how many workers ask.
        find: returns a case of the run by its id.
    """
    wrong = [record for record in run.records if record.digest is not None]
    cases = [case for record in wrong if (case := find(record.case)) is not None]
    again = replace(asking, dialect=run.dialect, repeat=1, only_compares=True)
    digests: dict[str, str | None] = {}
    with suppress(TconvError):
        if cases:
            with Pool(again, jobs) as pool:
                digests.update((record.case, record.digest) for record in pool.run(cases))
    return [replace(record, digest=None) for record in wrong if digests.get(record.case) != record.digest]
