"""A runtime with several mistakes: calls in which they meet have the names that other failures have alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import yaml

from small_corpus import TIMEOUT
from tconv.dialects.readings import Combination
from tconv.evidence import joint
from tconv.evidence.hypotheses import Misreads
from tconv.evidence.joint import SHOWN_ALONE, explain_by_others
from tconv.execution.asking import Asking
from tconv.execution.run import RunSettings, run
from tconv.execution.selection import Selection
from tconv.gate.assessment import assess
from tconv.gate.status import Status
from tconv.gate.waivers import WaiverFile
from tconv.records.record_file import read
from tconv.reports.causes import find_causes
from tconv.reports.proposed_waivers import proposed

if TYPE_CHECKING:
    from pathlib import Path

    from tconv.corpus import Corpus
    from tconv.records.record_file import Run

PADS, BIAS = "pads-exchanged", "bias-doubled"
BOTH = Combination((PADS, BIAS))
PATTERNS = (
    "padding/combinations/**[auto_pad=explicit,shape=plane]",
    "interactions/planes[dtype=f32,padding=pads]",
)


@pytest.fixture(scope="module")
def recorded(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("two")
    backend = "wrong_backends:PadsSwappedAndBiasDoubled"
    return read(
        run(
            Selection(corpus, "gate", PATTERNS),
            RunSettings(Asking(backend, timeout=TIMEOUT), folder, 2),
            lambda *_: None,
        ).path
    )


def failed_of(recorded: Run) -> set[str]:
    return {record.case for record in recorded.records if record.verdict.kind == "differed"}


def unexplained(recorded: Run) -> set[str]:
    return {record.case for record in recorded.records if record.verdict.kind == "differed" and not record.diagnosis}


def test_mistakes_that_meet_are_explained_by_the_names_that_they_have_alone(recorded: Run, corpus: Corpus) -> None:
    """Each failure that nothing explained has both names, and says nothing any more of an output without a name."""
    assert len(unexplained(recorded)) > 10
    found = explain_by_others(recorded, failed_of(recorded), corpus.find)
    assert unexplained(recorded) <= found.keys()
    assert Counter(why.explained[-1] for why in found.values()).most_common(1)[0][0] in {
        BOTH,
        Combination((BIAS, PADS)),
    }
    assert {why.described for why in found.values()} == {SHOWN_ALONE}
    assert not any(why.relation for why in found.values())


def test_they_are_one_cause_that_names_no_new_mistake(recorded: Run, corpus: Corpus) -> None:
    """Two causes for two mistakes; calls that show both are of one of the two."""
    found = find_causes(assess(recorded, None, corpus.find_facts, find=corpus.find), Status.FAILED)
    names = {str(cause.explanation.what) for cause in found if cause.explanation}
    assert names == {f"as if {PADS}", f"as if {BIAS}"}, [cause.what for cause in found]
    assert sum(cause.count for cause in found) == len(failed_of(recorded))


def test_a_name_of_few_failures_is_not_looked_for_in_others(recorded: Run, corpus: Corpus) -> None:
    """A misreading that fits three outputs may fit them by chance."""
    alone = [record for record in recorded.records if Combination((BIAS,)) in record.diagnosis]
    few = {record.case for record in alone[3:]}
    without = replace(recorded, records=[record for record in recorded.records if record.case not in few])
    assert explain_by_others(without, failed_of(without), corpus.find) == {}


def test_the_search_ends_after_so_many_trials(recorded: Run, corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not after a time, which would explain the same records differently on a slower machine."""
    every = explain_by_others(recorded, failed_of(recorded), corpus.find)
    monkeypatch.setattr(joint, "_MOST_TRIALS", 40)
    part = explain_by_others(recorded, failed_of(recorded), corpus.find)
    assert 0 < len(part) < len(every)
    assert part == {case: every[case] for case in part}


def test_a_failure_without_its_arrays_stays_as_it_is(recorded: Run, corpus: Corpus) -> None:
    """Artifacts may have been removed, or were too many."""
    (first, *_) = unexplained(recorded)
    bare = [replace(record, artifact=None) if record.case == first else record for record in recorded.records]
    found = explain_by_others(replace(recorded, records=bare), failed_of(recorded), corpus.find)
    assert first not in found
    assert found


def test_what_is_no_failure_stays_as_it_is(recorded: Run, corpus: Corpus) -> None:
    """A waived deviation has its reason already."""
    assert explain_by_others(recorded, frozenset(), corpus.find) == {}


LOST = ("channels/counts[channels=31]", "special-values/subnormal-*", "interactions/**[rank=1]")


def test_lost_bits_that_few_elements_show_are_of_the_cause_that_many_failures_show(
    corpus: Corpus, tmp_path: Path
) -> None:
    """One cause, also where an output has too few wrong elements for the name, or another name fits it by chance."""
    patterns = (*LOST, "real-data/**[rank=1]")
    settings = RunSettings(Asking("wrong_backends:HalfResults", timeout=TIMEOUT), tmp_path, 2)
    recorded = read(run(Selection(corpus, "gate", patterns), settings, lambda *_: None).path)
    name = Combination(("sums-kept-in-f16",))
    failed = failed_of(recorded)
    without = {record.case for record in recorded.records if record.case in failed and name not in record.diagnosis}
    assert len(without) > 4
    joined = explain_by_others(recorded, failed, corpus.find)
    assert {case for case, why in joined.items() if why.explained[-1] == name} == without
    assessment = assess(recorded, None, corpus.find_facts, find=corpus.find)
    assert [cause.group[:2] for cause in find_causes(assessment, Status.FAILED)] == [("explained", Misreads(name))]


def test_a_single_misreading_that_a_search_did_not_reach_is_no_pair(recorded: Run, corpus: Corpus) -> None:
    """The search of a worker may run out of time: what one misreading gives is not told as two."""
    alone = [record for record in recorded.records if record.diagnosis == (Combination((PADS,)),)]
    lost = replace(alone[0], diagnosis=(), described="undiagnosed, the search took too long: 1 of 2 elements differ")
    records = [lost if record.case == lost.case else record for record in recorded.records]
    found = explain_by_others(replace(recorded, records=records), {lost.case}, corpus.find)
    assert [(why.explained, why.described) for why in found.values()] == [((Combination((PADS,)),), "")]


def test_what_is_waived_shows_a_misreading_too(recorded: Run, corpus: Corpus) -> None:
    """With waivers for each mistake the calls in which they meet are explained as before."""
    assert explain_by_others(recorded, unexplained(recorded), corpus.find).keys() == unexplained(recorded)


def test_a_proposed_waiver_holds_in_the_next_run(recorded: Run, corpus: Corpus) -> None:
    """The evidence of a joint explanation is other failures, which are waived then: the waiver does not ask for it."""
    text = proposed(assess(recorded, None, corpus.find_facts, find=corpus.find))
    data = yaml.safe_load(text.replace("TODO", "written"))
    waivers = WaiverFile.model_validate(data)
    # As the workers of the next run have recorded it.
    next_run = assess(recorded, waivers, corpus.find_facts, find=corpus.find)
    assert next_run.counts[Status.FAILED] == 0
    assert next_run.waivers.of_state("stale") == []
