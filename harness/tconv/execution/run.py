"""A run: the cases of a selection on a backend, into a record file that a later run may resume."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal, TextIO

from tconv import __version__
from tconv.cases.patterns import parse
from tconv.errors import ClusterError, FileError, UsageError, writing
from tconv.execution.pool import Pool
from tconv.execution.versions import versions
from tconv.execution.worker import Assignment
from tconv.records.record_file import RunHeader, header_line, read

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tconv.cases.case import Case
    from tconv.corpus import Corpus, Tier
    from tconv.dialects import Dialect
    from tconv.execution.cluster import Cluster
    from tconv.records.record_file import Line
    from tconv.records.shards import Shards


@dataclass(frozen=True, slots=True)
class Selection:
    """Which cases of a corpus are run.

    Attributes:
        corpus: where they come from.
        tier: smoke, gate or full.
        patterns: any of which a case must match; none means all.
        path: the path of the corpus as the user wrote it; empty for tconv's own.
        shard: which part of the selection is run; None for all of it.
    """

    corpus: Corpus
    tier: Tier = "gate"
    patterns: tuple[str, ...] = ()
    path: str = ""
    shard: Shards | None = None

    @property
    def name(self) -> str:
        """A part of the file names of a run with patterns, so that it does not replace the files of the whole."""
        words = "|".join(self.patterns)
        name = f"selection-{blake2b(words.encode(), digest_size=4).hexdigest()}" if words else ""
        return "-".join(filter(None, (name, self.shard.name if self.shard else "")))

    def cases(self) -> list[Case]:
        """Return the cases.

        Raises:
            UsageError: a pattern matches none, or the tier or the shard has none.
        """
        selected = {case.id: case for case in self.corpus.cases(self.tier, self.patterns)}
        for text in self.patterns:
            pattern = parse(text)
            if any(pattern.matches(case.id, case.facts) for case in selected.values()):
                continue
            # A pattern that matches nothing in the tier selects from the whole corpus.
            matching = {case.id: case for case in self.corpus.cases("full", (text,))}
            if not matching:
                raise self.corpus.unmatched(text)
            selected |= matching
        if not selected:
            raise UsageError(f"the {self.tier} tier must have a case (got none); choose another with --tier")
        if self.shard is None:
            return list(selected.values())
        if not (part := list(self.shard.of(selected.values()))):
            raise UsageError(
                f"--shard i/n must have a case (got {self.shard} of {len(selected)} cases); take a smaller n"
            )
        return part


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How cases are run.

    Attributes:
        backend: an installed name or `package.module:attribute`.
        dialect: the dialect; None for the backend's first.
        jobs: worker processes.
        timeout: seconds that a case may take.
        output: the folder of records and artifacts.
        resume: whether to go on with a record file whose header is equal.
        repeat: how often each case is run.
        dask: the address of the scheduler of a dask cluster, whose workers run the cases; None for here.
    """

    backend: str
    dialect: Dialect | None
    jobs: int
    timeout: float
    output: Path
    resume: bool = False
    repeat: int = 1
    dask: str | None = None


def run(selection: Selection, settings: RunSettings, progress: Callable[[int, int, Line | None], None]) -> Path:
    """Run a selection and return the record file, complete.

    Args:
        selection: the cases.
        settings: how they are run.
        progress: called with the number of cases done, the number of all, and the last line (None at the start).

    Raises:
        BackendMissing: the backend is not there or does not start.
        ClusterError: the cluster is not there, or its workers would not judge alike.
        UsageError: the backend does not speak the dialect.
        FileError: the record file to be resumed is of another run, or it cannot be written.
    """
    cases = selection.cases()
    with writing(settings.output, "folder"):
        settings.output.mkdir(parents=True, exist_ok=True)
    folder = str(settings.output.resolve())
    assignment = Assignment(settings.backend, settings.dialect, folder, "", settings.repeat)
    with _pool(assignment, settings) as pool:
        header = _header(selection, settings, pool, len(cases))
        path = settings.output / record_name(header, selection.name)
        done = _recorded_ids(path, header) if settings.resume else frozenset()
        remaining = [case for case in cases if case.id not in done]
        progress(len(done), len(cases), None)
        with _open(path, "a" if settings.resume else "w") as file:
            if file.tell() == 0:
                file.write(header_line(header) + "\n")
            for number, line in enumerate(pool.run(remaining), start=len(done) + 1):
                file.write(line.text + "\n")
                progress(number, len(cases), line)
    return path


def _pool(assignment: Assignment, settings: RunSettings) -> Pool | Cluster:
    if settings.dask is None:
        return Pool(assignment, settings.jobs, settings.timeout)
    try:
        from tconv.execution.cluster import Cluster  # noqa: PLC0415 - dask is an extra
    except ImportError as error:
        remedy = "install it with: pip install 'tconv-conformance[dask]'"
        raise ClusterError(f"--dask must have dask and distributed installed (got: {error}); {remedy}") from error
    return Cluster(settings.dask, assignment, settings.timeout)


def record_name(header: RunHeader, selection: str = "") -> str:
    """Return the name of the record file: backend, version, dialect, and the selection where it is a part."""
    words = f"{header.backend.name}-{header.backend.version}-{header.dialect.replace('/', '-')}"
    words += f"-{selection}" if selection else ""
    return re.sub(r"[^A-Za-z0-9._+-]", "_", words).lstrip(".") + ".jsonl"


def _open(path: Path, mode: Literal["a", "w"]) -> TextIO:
    with writing(path):
        return path.open(mode, encoding="utf-8", buffering=1)


def _header(selection: Selection, settings: RunSettings, pool: Pool | Cluster, cases: int) -> RunHeader:
    return RunHeader(
        tconv=__version__,
        backend=pool.backend,
        dialect=pool.dialect.name,
        tier=selection.tier,
        patterns=selection.patterns,
        corpus=selection.corpus.digest,
        path=selection.path,
        cases=cases,
        shard=str(selection.shard or ""),
        timeout=settings.timeout,
        repeat=settings.repeat,
        platform=versions(),
        started=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _recorded_ids(path: Path, header: RunHeader) -> frozenset[str]:
    """Return the ids that a record file has already, after a last line without its end was cut off."""
    if not path.exists():
        return frozenset()
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    if not whole:
        path.write_bytes(b"")
        return frozenset()
    previous = read(path)
    if not previous.header.continues(header):
        raise FileError(path, "must be of the same run to be resumed (got another header); run without --resume")
    if whole != len(data):
        with path.open("r+b") as file:
            file.truncate(whole)
    return frozenset(record.case for record in previous.records)
