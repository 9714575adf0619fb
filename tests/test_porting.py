"""Porting: the rewriting keeps the output."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from strategies import WIDE
from tconv import conv_transpose
from tconv.cases.operands import make_operands
from tconv.dialects import DIALECTS
from tconv.expectation.expected import Values, expect
from tconv.porting.port import rewritten

if TYPE_CHECKING:
    from tconv.corpus import Corpus

NAMES = [name for name in WIDE if name != "geometry/1"]
ONNX, OPENVINO = "onnx/ConvTranspose-22", "openvino/ConvolutionBackpropData-1"


@pytest.mark.parametrize("source", NAMES)
def test_a_rewriting_keeps_the_output(corpus: Corpus, source: str) -> None:
    """The reference gives the source's output, bit for bit, to what is written in the target instead."""
    targets = set()
    for case in list(corpus.cases("gate", ["porting/**"]))[::7]:
        expected = expect(case, DIALECTS[source])
        if not isinstance(expected, Values):
            continue
        operands = make_operands(case.x, case.w, case.b)
        for target in NAMES:
            rewriting = rewritten(case, expected.primary.geometry, DIALECTS[target])
            if rewriting is None:
                continue
            outputs = [
                conv_transpose(
                    operands["x"],
                    operands["w"],
                    dialect=name,
                    data_format="NCX",
                    filter_format="IOX",
                    **{key: value for key, value in written.attributes.given().items() if key != "data_format"},
                )
                for name, written in ((source, case), (target, rewriting.case))
            ]
            np.testing.assert_array_equal(*outputs)
            targets.add(target)
    assert targets == set(NAMES)


def test_what_no_pads_say_is_not_rewritten(corpus: Corpus) -> None:
    """An output that begins before the first tap, or goes on past what output_padding may add, has no rewriting."""
    case = corpus.case("porting/asked[shape=gap,auto_pad=same_upper,output_shape=full+3,output_padding=none]")
    expected = expect(case, DIALECTS[ONNX])
    assert isinstance(expected, Values)
    before_the_first_tap = expected.primary.geometry
    assert min(before_the_first_tap.pads_begin) < 0
    assert rewritten(case, before_the_first_tap, DIALECTS[ONNX]) is None
    case = corpus.case("porting/asked[shape=odd,auto_pad=none,output_shape=full+3,output_padding=none]")
    expected = expect(case, DIALECTS[OPENVINO])
    assert isinstance(expected, Values)
    appended = replace(expected.primary.geometry, pads_begin=(0,))
    assert rewritten(case, appended, DIALECTS[ONNX]) is None
    kept = rewritten(case, appended, DIALECTS[OPENVINO])
    assert kept is not None
    assert kept.case.attributes.output_padding == (3,)
