"""Drawn cases: the same for the same seed, over the whole space, valid and broken in one place."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from itertools import islice, product
from typing import TYPE_CHECKING

import pytest

from strategies import WIDE
from tconv.cases.context import AXES
from tconv.corpus.writing import settings
from tconv.dialects import DIALECTS
from tconv.expectation.expected import NotApplicable, Values, expect, finds_broken
from tconv.investigation import random_cases
from tconv.investigation.faults import FAULTS, faults_of
from tconv.investigation.random_cases import drawn
from tconv.vocabulary import ATTRIBUTES, AutoPad, DType

if TYPE_CHECKING:
    from tconv.cases.case import Case

ONNX = "onnx/ConvTranspose-22"


def cases(count: int, seed: int = 0, dialect: str = ONNX) -> list[Case]:
    return list(islice(drawn(seed, DIALECTS[dialect]), count))


def test_the_same_seed_draws_the_same_cases() -> None:
    assert cases(50) == cases(300)[:50]
    assert {repr(settings(case)) for case in cases(50)}.isdisjoint(repr(settings(case)) for case in cases(50, 1))


def test_a_case_is_the_same_on_every_machine() -> None:
    digest = blake2b("".join(repr(settings(case)) for case in cases(200)).encode(), digest_size=8).hexdigest()
    assert digest == PINNED


@pytest.mark.parametrize("name", [name for name, dialect in DIALECTS.items() if dialect.operations])
def test_contexts_are_drawn_for_each_dialect_with_graphs(name: str) -> None:
    """Each can say them; there is every level of every axis that it has, alone and beside others, and no fault."""
    found = list(islice(drawn(0, DIALECTS[name], contexts=True), 400))
    for case in found:
        assert isinstance(expect(case, DIALECTS[name]), Values)
        assert case.breaks is None
    counts = Counter(len(case.context.levels) for case in found)
    levels = {level for case in found for level in case.context.levels.items()}
    if of := DIALECTS[name].quantised:
        assert {level for each in of for axis in each for level in product([axis], each[axis])} <= levels
    else:
        assert {0, 1, 2, 3, 4, 5} <= set(counts)
        # Nodes compute an output_shape only if it is an input.
        without = set() if "output_shape" in DIALECTS[name].spelling.inputs else {"sizes"}
        assert {axis for axis, _ in levels} == set(AXES) - without
        assert len(levels) > 50
    assert found[:50] == list(islice(drawn(0, DIALECTS[name], contexts=True), 50))


PINNED = "18829b494999a500"
"""Another digest is another stream of cases: say so in the change log."""


@pytest.mark.parametrize("name", DIALECTS)
def test_each_dialect_can_say_what_is_drawn_for_it(name: str) -> None:
    for case in cases(200, dialect=name):
        expected = expect(case, DIALECTS[name])
        assert not isinstance(expected, NotApplicable)
        assert case.breaks is None or finds_broken(expected, case.breaks)


def test_the_whole_space_is_drawn_from() -> None:
    some = [case for case in cases(2000) if case.breaks is None]
    for name in ATTRIBUTES:
        assert {getattr(case.attributes, name) is None for case in some} == {True, False}, name
    assert {case.attributes.auto_pad for case in some} == {None, *AutoPad}
    assert {case.x.dtype for case in some} == set(DType)
    assert {len(case.x.shape) - 2 for case in some} == {1, 2, 3, 4}
    assert {case.attributes.groups for case in some} == {None, 1, 2, 3, 4}
    assert {case.b is None for case in some} == {True, False}
    assert {case.shapes for case in some} == {"static", "symbolic"}
    assert {case.filter_source for case in some} == {"initializer", "input"}
    zeros = Counter(0 in case.x.shape for case in some)
    assert 0 < zeros[True] < zeros[False] / 4


@pytest.mark.parametrize("name", WIDE)
def test_every_fault_that_a_dialect_minds_is_drawn(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_cases, "_BROKEN_PERCENT", 100)
    minded = faults_of(DIALECTS[name])
    assert {case.breaks for case in cases(1000, dialect=name)} - {None} == set(minded)


def test_a_dialect_is_not_asked_about_what_it_has_no_words_for() -> None:
    """The layouts of ONNX cannot be unknown; neither oneDNN nor anyone but ONNX has a kernel_shape that may differ."""
    assert set(FAULTS) - set(faults_of(DIALECTS[ONNX])) == {"data-format-known", "filter-format-known"}
    others = [name for name in DIALECTS if not name.startswith("onnx/")]
    assert all("kernel-shape-matches" not in faults_of(DIALECTS[name]) for name in others)
