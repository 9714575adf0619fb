"""Porting: what changes from text to text, and that the rewriting keeps it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tconv import conv_transpose
from tconv.cases.operands import make_operands
from tconv.comparison.porting import Catalogue, Change, alike, rewritten
from tconv.dialects import DIALECTS
from tconv.expectation.owed import Values, expectation

if TYPE_CHECKING:
    from tconv.corpus import Corpus

NAMES = [name for name in DIALECTS if name != "geometry/1"]
ONNX, OPENVINO, ONEDNN = "onnx/ConvTranspose-22", "openvino/ConvolutionBackpropData-1", "onednn/ConvTranspose-1"


@pytest.fixture(scope="module")
def asked(corpus: Corpus) -> Catalogue:
    """Return the topic porting."""
    return Catalogue(corpus.cases("gate", ["porting/**"]), list(DIALECTS.values()))


def change(catalogue: Catalogue, source: str, target: str, combination: str) -> Change:
    """Return the one change of a combination."""
    (found,) = (
        candidate
        for candidate in catalogue.changes(DIALECTS[source], DIALECTS[target])
        if candidate.combination == combination
    )
    return found


def test_nothing_changes_within_a_text(asked: Catalogue) -> None:
    """A text does not part from itself, and opset 22 not from opset 11, whose words it repeats."""
    for name in NAMES:
        assert asked.changes(DIALECTS[name], DIALECTS[name]) == []
    assert asked.changes(DIALECTS["onnx/ConvTranspose-11"], DIALECTS[ONNX]) == []
    groups = alike([DIALECTS[name] for name in NAMES])
    assert groups[DIALECTS[ONNX]] == [DIALECTS["onnx/ConvTranspose-11"]]
    assert sum(1 + len(others) for others in groups.values()) == len(NAMES)


def test_the_odd_unit_of_a_size_that_is_asked_for(asked: Catalogue) -> None:
    """ONNX's SAME_UPPER with output_shape crops the end, OpenVINO's formula the beginning; pads keep either."""
    found = change(asked, ONNX, OPENVINO, "same_upper with output_shape")
    assert found.what == "pads"
    assert found.after is not None
    assert found.before.output == found.after.output
    assert [one - two for one, two in zip(found.after.pads_begin, found.before.pads_begin, strict=True)] == [1]
    assert found.rewriting is not None
    attributes = found.rewriting.attributes
    assert (attributes.auto_pad, attributes.output_shape) == (None, None)
    assert 0 < found.rewritable <= found.count < found.answered


def test_a_size_that_cannot_be_asked_for(asked: Catalogue) -> None:
    """The operation of oneDNN has no output_shape; the pads that follow from it are what is written there."""
    found = change(asked, ONNX, ONEDNN, "any")
    assert (found.what, found.after) == ("without-output-shape", None)
    assert found.reason == "output_shape must not be there"
    assert found.rewriting is not None


@pytest.mark.parametrize("source", NAMES)
def test_a_rewriting_keeps_the_output(asked: Catalogue, source: str) -> None:
    """The reference gives the source's output, bit for bit, to what is written in the target instead."""
    targets = set()
    for target in NAMES:
        for change_ in asked.changes(DIALECTS[source], DIALECTS[target]):
            if change_.rewriting is None:
                continue
            operands = make_operands(change_.example.x, change_.example.w, change_.example.b)
            outputs = [
                conv_transpose(
                    operands["x"],
                    operands["w"],
                    dialect=name,
                    data_format="NCX",
                    filter_format="IOX",
                    **{key: value for key, value in case.attributes.given().items() if key != "data_format"},
                )
                for name, case in ((source, change_.example), (target, change_.rewriting))
            ]
            np.testing.assert_array_equal(*outputs)
            targets.add(target)
    assert targets == {name for name in NAMES if DIALECTS[name].rules != DIALECTS[source].rules}


def test_what_no_pads_say_is_not_rewritten(corpus: Corpus) -> None:
    """An output that begins before the first tap, or goes on past what output_padding may add, has no rewriting."""
    case = corpus.case("porting/asked[shape=gap,auto_pad=same_upper,output_shape=full+3,output_padding=none]")
    owed = expectation(case, DIALECTS[ONNX])
    assert isinstance(owed, Values)
    before_the_first_tap = owed.primary.geometry
    assert min(before_the_first_tap.pads_begin) < 0
    assert rewritten(case, before_the_first_tap, DIALECTS[ONNX]) is None
    case = corpus.case("porting/asked[shape=odd,auto_pad=none,output_shape=full+3,output_padding=none]")
    owed = expectation(case, DIALECTS[OPENVINO])
    assert isinstance(owed, Values)
    appended = replace(owed.primary.geometry, pads_begin=(0,))
    assert rewritten(case, appended, DIALECTS[ONNX]) is None
    kept = rewritten(case, appended, DIALECTS[OPENVINO])
    assert kept is not None
    assert kept.attributes.output_padding == (3,)


def test_every_answer_that_pads_can_say_is_asked_plainly(asked: Catalogue, corpus: Corpus) -> None:
    """So that runtimes verify the rewritings: the topic has a case for each, up to an output_padding of 2."""
    cases = list(corpus.cases("gate", ["porting/asked"]))
    missing, answers = [], 0
    for name in NAMES:
        for case in cases:
            owed = expectation(case, DIALECTS[name])
            if isinstance(owed, Values):
                geometry = owed.primary.geometry
                sayable = rewritten(case, geometry, DIALECTS[ONNX]) is not None
                answers += sayable
                if sayable and asked.with_explicit_pads(case, geometry) is None:
                    missing.append((name, case.id, geometry))
    assert missing == []
    assert answers > 500
