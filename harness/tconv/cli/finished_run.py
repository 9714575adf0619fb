"""What is found out of a run after its last case, for `tconv run`: failures are looked at together, and asked again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tconv.gate.assessment import assess_with_corpus
from tconv.gate.status import Status
from tconv.gate.waivers import chosen_waivers
from tconv.investigation.fresh_answers import fresh_answers
from tconv.investigation.joint_explanations import joint_explanations
from tconv.investigation.unset_memory import of_unset_memory

if TYPE_CHECKING:
    from tconv.cli.run_command import RunArguments
    from tconv.execution.run import RunSettings, UnfinishedRun
    from tconv.execution.selection import Selection
    from tconv.gate.assessment import Assessment
    from tconv.gate.waivers import WaiverFile


def finished_run(
    arguments: RunArguments,
    settings: RunSettings,
    unfinished: UnfinishedRun,
    file: WaiverFile | None,
    selection: Selection,
    *,
    own: bool,
    quiet: bool,
) -> Assessment:
    """Return what the gate says of a run, after more was found out of its failures.

    Args:
        arguments: what the command is given.
        settings: how the cases were run.
        unfinished: the run, whose failures are updated.
        file: the backend's waivers; None for none.
        selection: the cases.
        own: whether the waivers were written for this corpus.
        quiet: whether nothing is said of what goes on.
    """

    def assessed() -> Assessment:
        run = unfinished.run
        # The name of one's own backend, and so its waivers, are known with its records.
        waivers = chosen_waivers(arguments.waivers, run.header.backend.name) if ":" in run.header.backend.spec else file
        return assess_with_corpus(run, waivers, selection.corpus, strict=arguments.strict, own=own, find=selection.find)

    assessment = assessed()
    if not unfinished.failures:
        return assessment
    unfinished.update(joint_explanations(unfinished.run, _failed(assessment), selection.find))
    # The runtime of a cluster's workers may not be here.
    if arguments.dask is None:
        failed = _failed(assessed()).intersection(record.case for record in unfinished.failures)
        if failed and not quiet:
            backend = settings.asking.backend
            click.echo(f"tconv: {backend}: failures are asked again, each alone in a fresh process", err=True)
        unfinished.update(fresh_answers(unfinished.run, failed, settings.asking, selection.find))
        unfinished.update(of_unset_memory(unfinished.run, settings.asking, settings.jobs, selection.find))
    return assessed()


def _failed(assessment: Assessment) -> set[str]:
    return {member.record.case for member in assessment.statuses if member.status is Status.FAILED}
