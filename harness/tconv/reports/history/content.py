"""What a history is made of: the records of the releases of one runtime in one dialect."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from tconv.errors import UsageError
from tconv.gate.assessment import assess_with_corpus
from tconv.gate.record_files import read_selected
from tconv.gate.waivers import choose_waivers
from tconv.investigation.history.strips import strips
from tconv.records.shards import merged
from tconv.reports.red import sentence

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tconv.corpus import Corpus
    from tconv.gate.assessment import Assessment
    from tconv.investigation.history.strips import Strip
    from tconv.records.headers import RunHeader
    from tconv.records.record_file import Run


@dataclass(frozen=True)
class History:
    """The releases of a runtime in one dialect.

    Attributes:
        releases: the records of each, the oldest first, judged with waivers that hold for every version.
    """

    releases: tuple[Assessment, ...]

    @property
    def header(self) -> RunHeader:
        """The header of the newest release's records."""
        return self.releases[-1].run.header

    @property
    def title(self) -> str:
        """Runtime and dialect."""
        return f"{self.header.backend.name}, {self.header.dialect}"

    @property
    def asked(self) -> str:
        """What was run."""
        patterns = f" that match {' or '.join(self.header.patterns)}" if self.header.patterns else ""
        return f"{self.header.cases:,} cases of the {self.header.tier} tier{patterns}"

    @property
    def versions(self) -> list[str]:
        """The releases."""
        return [release.run.header.backend.version for release in self.releases]

    @cached_property
    def strips(self) -> list[Strip]:
        """The causes, the most urgent first."""
        return strips(self.releases)

    @property
    def incomplete(self) -> list[str]:
        """What is wrong with the records themselves, each reason once with its releases."""
        releases: dict[str, list[str]] = defaultdict(list)
        for version, release in zip(self.versions, self.releases, strict=True):
            for reason in release.incomplete:
                releases[sentence(reason, release)].append(version)
        return [
            f"{'all releases' if versions == self.versions else ', '.join(versions)}: {reason}"
            for reason, versions in releases.items()
        ]


def histories(files: Sequence[Path], corpus: Corpus, waivers: str | None) -> Iterator[History]:
    """Yield the history of each runtime and dialect in record files.

    Args:
        files: the record files.
        corpus: the corpus of the records.
        waivers: the value of --waivers.

    Raises:
        UsageError: there is no record file, or a version in one is none that can be put in order.
        FileError: a file is not as it must be.
    """
    by_runtime: dict[tuple[object, ...], list[Run]] = defaultdict(list)
    for run in merged([read_selected(file, corpus) for file in files]):
        header = run.header
        by_runtime[header.backend.name, header.dialect, header.tier, header.patterns].append(run)
    if not by_runtime:
        raise UsageError("there must be record files (got none)")
    for runs in (runs for _, runs in sorted(by_runtime.items(), key=lambda item: item[0])):
        file = choose_waivers(waivers, runs[0].header.backend.name)
        waivers_of_all = None if file is None else file.for_every_version()
        runs.sort(key=_version)
        yield History(tuple(assess_with_corpus(run, waivers_of_all, corpus, strict=False, own=True) for run in runs))


def _version(run: Run) -> Version:
    try:
        return Version(run.header.backend.version)
    except InvalidVersion:
        raise UsageError(
            f"a version must be one of PEP 440 (got {run.header.backend.version!r} in {run.path})"
        ) from None
