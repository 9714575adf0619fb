"""What a runtime says: which part of a message is its own sentence, and which messages say the same of two calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

from played_backends import assessment_of, computed, geometry_of, reports_of
from tconv.backends import Refused
from tconv.gate.assessment import assess
from tconv.gate.status import Status
from tconv.gate.waivers import WaiverFile
from tconv.records.failure import sentence, without_numbers
from tconv.reports.causes import find_causes
from tconv.reports.proposed_waivers import proposed

if TYPE_CHECKING:
    from tconv.backends import Outcome
    from tconv.cases.case import Case
    from tconv.corpus import Corpus
    from tconv.expectation.problem import Problem
    from tconv.vocabulary import Array

NODE = "{{function_node __wrapped__Conv2DBackpropInput_device_/job:localhost/replica:0/task:0/device:CPU:0}}"
DILATIONS = "Current CPU implementations do not yet support dilation rates larger than 1."
ILLEGAL = "error: failed to legalize operation 'torch.operator' that was explicitly marked illegal:"
OPERATION = (
    '%1 = "torch.operator"(%arg0, %arg1) <{name = "onnx.ConvTranspose"}> {torch.onnx.strides = [2 : si64, 2 : si64]} : '
    '(!torch.vtensor<[1,2,5,5],f32>, !torch.vtensor<[2,2,3,3],f32>) -> !torch.vtensor<[1,2,11,11],f32> loc("m":4:10)'
)
WITH_BIAS = (
    '%7 = "torch.operator"(%arg0, %arg1, %arg2) <{name = "onnx.ConvTranspose"}> {torch.onnx.auto_pad = "VALID"} : '
    "(!torch.vtensor<[1,4,5],f16>, !torch.vtensor<[4,2,3],f16>, !torch.vtensor<[2],f16>) -> !torch.vtensor<[1,2,7],f16>"
)
IREE = f"""Error invoking IREE compiler tool iree-compile
Error code: 1
Diagnostics:
m.mlir:1:1: warning: while creating CPU target:
m.mlir:4:10: {ILLEGAL} {OPERATION}
    {OPERATION}
         ^


Invoked with:
 iree-compile /a/iree-compile m.mlir --iree-input-type=onnx

Need more information? Set IREE_SAVE_TEMPS=/some/dir in your environment.
"""
TVM = """Traceback (most recent call last):
  2: tvm::runtime::PackedFunc::CallPacked
  0: tvm::relax::InferStructInfoConv2dTranspose
  File "/project/src/relax/op/nn/convolution.cc", line 867
InternalError: Check failed: (strides.size() == 2) is false: The input strides length is expected to be 2 (3 vs. 2)
"""
TORCH = "shape mismatch\nException raised from check at /a/b.cpp:12 (most recent call first):\nframe #0: c10::Error"
OPENCV = "> Node [ConvTranspose@ai.onnx]:(onnx_node_output_0!Y) parse error: OpenCV(5.0.0) /io/dnn.hpp:88: error: "
OPERANDS = " conv_517504 (opset1::Parameter X[0]:f32[?,?], opset1::Constant W[0]:f32[2,?,3]) -> (f32[?,?])"
RUST = "Conv { pool_spec: PoolSpec { data_format: NCHW, kernel_shape: [3, 3], dilations: None }, group: 2 }"


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (f"{NODE} {DILATIONS} [Op:Conv2DBackpropInput]", f"{DILATIONS} [Op:Conv2DBackpropInput]"),
        (f"InvalidArgumentError: {NODE} {DILATIONS}", f"InvalidArgumentError: ... {DILATIONS}"),
        (f"{{{{function_node __inference_22}}}} {DILATIONS}\n\t [[{{{{node foo}}}}]]", f"{DILATIONS} ..."),
        (IREE, f"m.mlir:4:10: {ILLEGAL} ..."),
        (f"CompilerToolError: {IREE}", f"m.mlir:4:10: {ILLEGAL} ..."),
        (TVM, TVM.splitlines()[-1]),
        (f"InternalError: {TVM}", TVM.splitlines()[-1]),
        (TORCH, "shape mismatch"),
        ("TypeError: divide by zero\n    at cc (file:///a.mjs:49:174)\n\nNode.js v24", "TypeError: divide by zero"),
        ("incompatible arguments:\n  1. (x: Tensor)\n\nInvoked with: <T>", "incompatible arguments: 1. (x: Tensor)"),
        (f"validating 'op{OPERANDS}': bad rank", "validating 'op ...': bad rank"),
        ("Check 'a' failed\nwhile validating 'n':\nbad rank", "Check 'a' failed while validating 'n': bad rank"),
        (f"unsupported {RUST}", "unsupported Conv { pool_spec: PoolSpec ..., group: 2 }"),
        ("got {'group': 2}, must be 1", "got {'group': 2}, must be 1"),
        ("stride must be 1 (got 2)", "stride must be 1 (got 2)"),
        ("Traceback (most recent call last):", "Traceback (most recent call last):"),
        (OPERATION, OPERATION),
        ("", ""),
    ],
)
def test_a_sentence_is_shown_without_what_a_runtime_dumps(message: str, shown: str) -> None:
    """What tells the cause stays, with its numbers; if a message is nothing but a dump, all of it stays."""
    assert sentence(message) == shown


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"{NODE} {DILATIONS} [Op:Conv2D]", f"{NODE.replace('CPU:0', 'CPU:1')} {DILATIONS} [Op:Conv2D]"),
        (IREE, IREE.replace(OPERATION, WITH_BIAS).replace("/a/", "/home/b/")),
        (f"{ILLEGAL} {OPERATION}", f"{ILLEGAL} {WITH_BIAS}"),
        (TVM, TVM.replace("  2: tvm::runtime::PackedFunc::CallPacked\n", "").replace("(3 vs. 2)", "(1 vs. 2)")),
        ("no groups: group=2", "no groups: group=4"),
        ("no groups; group=2", "no groups; strides=[2, 1], auto_pad=SAME_UPPER, group=2"),
        ("no groups (group=2)", "no groups (group=2, pads=(1, 1), kernel_shape=[np.int64(3)])"),
        ("no groups with group: 2, pads: [1, 2]", "no groups with group: 2, strides: [1], mode: 'x', group: 3"),
        (f"no {RUST}", "no Conv { pool_spec: PoolSpec { data_format: NHWC, padding: Explicit([1]) }, bias: true }"),
        ('no node { input: "X" op_type: "C" attribute { ints: 2 } }', 'no node { input: "X" input: "W" }'),
        ("no tensor<1x2x5xf32> of %arg0", "no tensor<3x?xf32> of %17"),
        ("no kernel for [f32[1,2,5], f32[2,3,3]]", "no kernel for [f32[1,2,5,5], f32[2,3,3,3], f32[3]]"),
        ("tensor12 is not an input of conv_3", "tensor4 is not an input of conv_17"),
        (f"validating 'op{OPERANDS}'", "validating 'op conv_3 (Transpose X[0]:f32[2,3], Constant B[0]) -> f32[?,?,2]'"),
        ("no memory at 0x7f31 of thread 12", "no memory at 0x88 of thread 3"),
        ("shape [np.int64(13), np.int64(10)] of -1.5e-07", "shape [1] of nan"),
        ("no tmpx81_ab2.so in build 6f17d22bba15001f", "no tmpq7_9cz.so in build a7d22bba15001f01"),
        (f"{OPENCV}(-215) n == 2", f"{OPENCV.replace('0!Y', '1!Y_ncx').replace('/io/', '/build/')}(-215) n == 3"),
    ],
)
def test_messages_that_differ_in_what_varies_are_alike(one: str, other: str) -> None:
    """Sizes, attributes, names, addresses, places and dumps are of a call, and not of the reason."""
    assert without_numbers(one) == without_numbers(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"{NODE} {DILATIONS}", f"{NODE} input and filter must have the same depth: 8 vs 4"),
        (IREE, IREE.replace("failed to legalize", "failed to verify")),
        (TVM, TVM.replace("strides", "dilations")),
        ("group=2 is not supported", "dilations=2 is not supported"),
        ("Given groups=2, expected weight", "Given strides=2, expected weight"),
        ("unsupported: group=2", "unsupported: dilations=2"),
        ("dilations are not implemented: pads=1, group=2", "groups are not implemented: pads=1, group=2"),
        ("Check failed: (x == y) is false", "Check failed: (x < y) is false"),
        ("no kernel for float16", "no kernel for float64"),
        ("no kernel for tensor<2x3xf16>", "no kernel for tensor<2x3xf32>"),
        (f"{OPENCV}(-215) in function 'get<long int>'", f"{OPENCV}(-215) in function 'getMemoryShapes'"),
        ("error at conv.cc:12: bad rank", "error at pool.cc:12: bad rank"),
        ("no Conv2d", "no Conv3d"),
        ("takes int64", "takes int32"),
        ("a decade of deadbeef", "a decade of effaced"),
        ("Node (n) [ShapeInferenceError] bad kernel", "Node (n) [TypeInferenceError] bad kernel"),
    ],
)
def test_different_refusals_stay_different(one: str, other: str) -> None:
    """A condition, a function, a type and the only attribute that a sentence names are reasons."""
    assert without_numbers(one) != without_numbers(other)


@pytest.mark.parametrize("text", ["[", "{a: ", "{{", "%a = ", "a=1, ", "a: [1 ", "(", "a 1 ", "/a", "1x", "_1", '"a'])
def test_long_messages_are_read_without_searching_anew_at_each_place(text: str) -> None:
    """Whatever a message of the greatest length repeats, reading it ends."""
    message = text * (20_000 // len(text))
    assert without_numbers(message)
    assert sentence(message)


def test_a_reason_is_one_cause(smoke_cases: tuple[Case, ...], corpus: Corpus) -> None:
    """A run shows each reason of a runtime once, in the runtime's own sentence, whatever its messages say of the calls.

    What is proposed for it waives every case of it, by words that the whole messages have.
    """

    def answer(problem: Problem) -> Array | Outcome:
        geometry, shape = geometry_of(problem), list(problem.case.x.shape)
        if max(geometry.dilations, default=1) > 1:
            return Refused(f"{NODE.replace('CPU:0', f'CPU:{shape[0]}')} {DILATIONS} [Op:Conv2DBackpropInput]")
        if geometry.groups > 1:
            return Refused(IREE.replace("[1,2,5,5]", str(shape)).replace("/a/", f"/a/{shape[-1]}/"))
        return computed(problem)

    asked = [case for case in smoke_cases if case.id.startswith(("groups/", "strides-dilations/", "presentation/"))]
    assessment = assessment_of(reports_of(answer, [case for case in asked if case.breaks is None]), corpus)
    causes = [cause.what for cause in find_causes(assessment, Status.FAILED)]
    assert len(causes) == 2
    assert all(sum(words in what for what in causes) == 1 for words in (f"{ILLEGAL} ...", DILATIONS))
    waivers = WaiverFile.model_validate(yaml.safe_load(proposed(assessment).replace("TODO", "it says so")))
    known = assess(assessment.run, waivers, corpus.find_facts, find=corpus.find)
    assert (known.counts[Status.FAILED], known.counts[Status.WAIVED] > 20) == (0, True)
