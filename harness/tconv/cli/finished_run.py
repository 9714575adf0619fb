"""What is found out of a run after its last case, for `tconv run`: failures are looked at together, and asked again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from tconv.errors import FileError
from tconv.execution.run import assignment_of
from tconv.gate.assessment import assess_with_corpus
from tconv.gate.record_files import read_selected
from tconv.gate.status import Status
from tconv.gate.waivers import chosen_waivers
from tconv.investigation.fresh_answers import fresh_answers
from tconv.investigation.joint_explanations import joint_explanations
from tconv.investigation.unset_memory import of_unset_memory
from tconv.records.rewriting import replace_records

if TYPE_CHECKING:
    from pathlib import Path

    from tconv.cli.run_command import RunArguments
    from tconv.execution.run import RunSettings
    from tconv.execution.selection import Selection
    from tconv.gate.assessment import Assessment
    from tconv.gate.waivers import WaiverFile
    from tconv.records.record_file import Run


def finished_run(
    arguments: RunArguments,
    settings: RunSettings,
    path: Path,
    file: WaiverFile | None,
    selection: Selection,
    *,
    own: bool,
    quiet: bool,
) -> Assessment:
    """Return what the gate says of a run that has ended, and write what is found out of its failures into its records.

    Args:
        arguments: what the command is given.
        settings: how the cases were run.
        path: the record file, which no other run writes.
        file: the backend's waivers; None for none.
        selection: the cases.
        own: whether the waivers were written for this corpus.
        quiet: whether nothing is said of what goes on.
    """
    run = read_selected(path, selection.corpus)

    def assessment_of(run: Run) -> Assessment:
        # The name of one's own backend, and so its waivers, are known with its records.
        waivers = chosen_waivers(arguments.waivers, run.header.backend.name) if ":" in run.header.backend.spec else file
        return assess_with_corpus(run, waivers, selection.corpus, strict=arguments.strict, own=own, find=selection.find)

    assessment, updated = assessment_of(run), run
    if joint := joint_explanations(run, _failed(assessment), selection.find):
        updated = run.with_records(joint)
        assessment = assessment_of(updated)
    # The runtime of a cluster's workers may not be here.
    if arguments.dask is None:
        failed = _failed(assessment)
        if failed and not quiet:
            click.echo(f"tconv: {settings.backend}: failures are asked again, each alone in a fresh process", err=True)
        fresh = fresh_answers(updated, failed, assignment_of(settings), settings.timeout, selection.find)
        header = run.header.model_copy(update={"asked_again": fresh.complete})
        updated = replace(updated.with_records(fresh.records), header=header)
        updated = updated.with_records(
            of_unset_memory(updated, assignment_of(settings), settings.jobs, settings.timeout, selection.find)
        )
        # Most runs have no failure: judging their records once more would take a tenth of a second for nothing.
        assessment = assessment_of(updated) if fresh.records else assessment.with_header(header)
    _rewrite(path, run, updated)
    return assessment


def _rewrite(path: Path, run: Run, updated: Run) -> None:
    """Put the records that changed after the end of a run into its record file."""
    if updated == run:
        return
    changed = [new for old, new in zip(run.records, updated.records, strict=True) if new is not old]
    try:
        replace_records(path, changed, updated.header)
    except FileError as error:
        # The run is complete, and its answer must not be lost with what was found after it.
        click.echo(f"tconv: {error}; what was found out of failures after the run is not in the records", err=True)


def _failed(assessment: Assessment) -> set[str]:
    return {member.record.case for member in assessment.statuses if member.status is Status.FAILED}
