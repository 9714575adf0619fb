"""Misreadings: each is one thing, changes what it says and nothing else, and the corpus notices all of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from mutants import UNLISTED, noticed
from strategies import every
from tconv.cases.call import write_signature
from tconv.cases.operands import make_operands
from tconv.diagnosis.misreadings import CATALOGUE, misreadings_of
from tconv.diagnosis.misreadings.misreading import MisreadCall, apply
from tconv.dialects import DIALECTS
from tconv.expectation.expected import Values, expect
from tconv.expectation.problem import Problem
from tconv.expectation.truth import Truth
from tconv.investigation.further_cases import misread_output
from tconv.vocabulary import Attributes, DType, Signature, TensorType

if TYPE_CHECKING:
    from tconv.cases.case import Case
    from tconv.corpus import Corpus

ONNX = DIALECTS["onnx/ConvTranspose-22"]
BY_NAME = {one.name: one for one in (*CATALOGUE, *UNLISTED)}


def made(
    name: str, attributes: dict[str, Any], x: tuple[int, ...], w: tuple[int, ...], *, bias: bool = False
) -> MisreadCall | None:
    outputs = w[1] * attributes.get("groups", 1)
    operands = {
        "x": np.arange(1.0, np.prod(x) + 1).reshape(x),
        "w": np.arange(1.0, np.prod(w) + 1).reshape(w),
    } | ({"b": np.arange(10.0, 10 + outputs)} if bias else {})
    written = Signature(
        Attributes(**attributes),
        TensorType(x, DType.F32),
        TensorType(w, DType.F32),
        TensorType((outputs,), DType.F32) if bias else None,
    )
    return apply([BY_NAME[name]], written, ONNX, operands)


def test_names_and_sentences_are_unique() -> None:
    for name in DIALECTS:
        rows = misreadings_of(DIALECTS[name])
        assert len({misreading.name for misreading in rows}) == len(rows)
        assert len({misreading.says for misreading in rows}) == len(rows)
        assert all(misreading.says and misreading.name == misreading.name.strip() for misreading in rows)


def test_what_a_text_allows_is_no_misreading() -> None:
    """A disputed answer is not in the catalogue of its dialect; it may be in another's."""
    for dialect in DIALECTS.values():
        allowed = {f"{misreading.change.question}={misreading.change.answer}" for misreading in dialect.disputed}
        assert not allowed & {misreading.name for misreading in misreadings_of(dialect)}
    assert "same=input-times-stride" in {
        misreading.name for misreading in misreadings_of(DIALECTS["onnx/ConvTranspose-1"])
    }
    assert "same=input-times-stride" not in {misreading.name for misreading in misreadings_of(ONNX)}


PADS = {"pads_begin": (1, 2), "pads_end": (0, 1)}
GEOMETRY = [
    ("pads-ignored", PADS, (0, 0), (5, 6)),
    ("pads-exchanged", PADS, (0, 1), (4, 3)),
    ("pads-interleaved", PADS, (1, 0), (2, 5)),
    ("pads-symmetric", PADS, (1, 2), (3, 2)),
    ("pads-axes-reversed", PADS, (2, 1), (2, 5)),
    ("pads-of-the-first-axis", PADS, (1, 1), (4, 5)),
    ("pads-added", PADS, (-1, -2), (6, 9)),
    ("output-padding-ignored", {"strides": (2, 2), "output_padding": (1, 0)}, (0, 0), (7, 9)),
    ("output-padding-at-the-beginning", {"strides": (2, 2), "output_padding": (1, 0)}, (-1, 0), (8, 9)),
    ("strides-of-the-first-axis", {"strides": (2, 3)}, (0, 0), (7, 9)),
    ("strides-axes-reversed", {"strides": (2, 3)}, (0, 0), (9, 9)),
    ("strides-for-dilations", {"strides": (2, 1), "dilations": (1, 3)}, (0, 0), (7, 12)),
    ("one-too-late", {}, (1, 1), (5, 6)),
    ("pads-on-the-data", {"strides": (2, 1), "pads_begin": (1, 0), "pads_end": (2, 1)}, (-2, 0), (13, 7)),
    ("crop-split-in-halves", {"pads_begin": (3, 0), "output_padding": (1, 0)}, (1, 0), (3, 6)),
    ("output-padding-times-stride", {"strides": (2, 3), "output_padding": (1, 2)}, (0, 0), (9, 18)),
    ("pads-begin-within-the-kernel", {"pads_begin": (3, 1), "dilations": (1, 2)}, (2, 1), (2, 7)),
    ("strides-in-the-size-alone", {"strides": (2, 3), "pads_begin": (1, 0)}, (1, 0), (6, 12)),
    # The second axis is 4 - 1 + 2 long.
    ("kernel-of-the-first-axis", {}, (0, 0), (4, 5), (1, 1, 3, 4), (1, 1, 2, 5)),
]
"""pads_begin and the size of the output; data of 3 by 4 under a filter of 3 by 3, unless their shapes follow."""


@pytest.mark.parametrize("row", GEOMETRY, ids=lambda row: row[0])
def test_what_a_misreading_makes_of_the_geometry(row: tuple[Any, ...]) -> None:
    name, attributes, begin, output, *shapes = row
    found = made(name, attributes, *(shapes or ((1, 1, 3, 4), (1, 1, 3, 3))))
    assert found is not None
    assert (found.geometry.pads_begin, found.geometry.output) == (begin, output)


GROUPS, STRIDED = {"groups": 2}, {"strides": (2,)}
ELEMENTS = [
    ("filter-flipped", {}, (1, 1, 3), (1, 1, 4), "w", [4, 3, 2, 1]),
    ("last-tap-dropped", {}, (1, 1, 3), (1, 1, 4), "w", [1, 2, 3, 0]),
    ("filter-channels-exchanged", {}, (1, 2, 3), (2, 2, 1), "w", [1, 3, 2, 4]),
    ("filter-read-as-xoi", {}, (1, 2, 3), (2, 1, 2), "w", [1, 3, 2, 4]),
    ("bias-doubled", {}, (1, 1, 1), (1, 2, 1), "b", [20, 22]),
    # Two groups of three: the first of each group, then the second ones, as in oneDNN#352.
    ("output-channels-dealt", GROUPS, (1, 2, 1), (2, 3, 1), "order", [0, 3, 1, 4, 2, 5]),
    # The last two of each group of six.
    ("input-channels-beyond-four-dropped", GROUPS, (1, 12, 1), (12, 1, 1), "w", [1, 2, 3, 4, 0, 0, 7, 8, 9, 10, 0, 0]),
    ("input-channels-beyond-four-unweighted", GROUPS, (1, 12, 1), (12, 1, 1), "w",
     [1, 2, 3, 4, 1, 1, 7, 8, 9, 10, 1, 1]),
    # Two lines of three, under a filter of one line of two taps.
    ("last-position-dropped", {}, (1, 1, 2, 3), (1, 1, 1, 2), "x", [1, 2, 0, 4, 5, 0]),
    ("data-bounded-by-the-kernel", {}, (1, 1, 2, 3), (1, 1, 1, 2), "x", [1, 2, 0, 0, 0, 0]),
    # Two channels of three points, and a filter of two by two channels and three taps, counted in NCX and IOX.
    ("data-read-as-nxc", {}, (1, 2, 3), (2, 2, 3), "x", [1, 3, 5, 2, 4, 6]),
    ("data-read-as-ncx", {}, (1, 2, 3), (2, 2, 3), "x", [1, 4, 2, 5, 3, 6]),
    ("filter-read-as-xoi", {}, (1, 2, 3), (2, 2, 3), "w", [1, 5, 9, 3, 7, 11, 2, 6, 10, 4, 8, 12]),
    ("filter-read-as-iox", {}, (1, 2, 3), (2, 2, 3), "w", [1, 7, 4, 10, 2, 8, 5, 11, 3, 9, 6, 12]),
    ("filter-read-as-oix", {}, (1, 2, 3), (2, 2, 3), "w", [1, 2, 3, 7, 8, 9, 4, 5, 6, 10, 11, 12]),
    # Three points a stride of 3 apart, under two taps, from the second point on: 1 . 3 4 . 6 7.
    ("unreached-points-are-zero", {"strides": (3,), "pads_begin": (1,), "output_padding": (0,)}, (1, 1, 3), (1, 1, 2),
     "ones", [1, 0, 1, 1, 0, 1, 1]),
    # The last two of six channels.
    ("channels-beyond-four-are-zero", {}, (1, 1, 2, 9), (1, 6, 1, 1), "ones", [1] * 72 + [0] * 36),
    # Positions 1, 2, 3 under taps 1, 2, 3, a stride of 2 apart: 1 2 3+2 4 6+3 6 9, beside a bias of 10.
    ("overlaps-hold-the-first-tap", STRIDED, (1, 1, 3), (1, 1, 3), "y", [11, 12, 12, 14, 13, 16, 19]),
    ("overlaps-hold-the-last-tap", STRIDED, (1, 1, 3), (1, 1, 3), "y", [11, 12, 13, 14, 16, 16, 19]),
    # Positions 1 to 5 under taps 1, 2, 3: 1+4+9, 2+6+12, 3+8+15, and of every second one of these; the bias is 10.
    ("convolution-not-transposed", {}, (1, 1, 5), (1, 1, 3), "y", [24, 30, 36]),
    ("convolution-not-transposed", STRIDED, (1, 1, 5), (1, 1, 3), "y", [24, 36]),
    # Beside a 0 at the beginning 2+6, and at the end 4+10; output_padding is no padding of the data.
    ("convolution-not-transposed", {**STRIDED, "pads_begin": (1,), "pads_end": (1,), "output_padding": (1,)},
     (1, 1, 5), (1, 1, 3), "y", [18, 30, 24]),
    ("convolution-not-transposed", {"dilations": (2,), "pads_begin": (2,)}, (1, 1, 5), (1, 1, 3), "y", [21, 26, 32]),
    # Two groups of one channel, whose sums are 1 2 and 6 8 in the first item, 5 6 and 14 16 in the second one.
    ("bias-in-the-first-item-alone", GROUPS, (2, 2, 2), (2, 1, 1), "y", [11, 12, 17, 19, 5, 6, 14, 16]),
]  # fmt: skip
"""Of a call on counted operands: an operand, the output, or what becomes of counted elements or ones in its place."""


@pytest.mark.parametrize(("name", "attributes", "x", "w", "part", "expected"), ELEMENTS)
def test_what_a_misreading_makes_of_elements(
    name: str, attributes: dict[str, Any], x: tuple[int, ...], w: tuple[int, ...], part: str, expected: list[float]
) -> None:
    """By hand; the bias is 10, 11 and so on."""
    found = made(name, attributes, x, w, bias=True)
    assert found is not None
    elements = found.operands.get(part)
    if elements is None:
        y = Truth(found.operands, DType.F32).compute_values(found.geometry)
        given = {"y": y, "order": np.arange(float(y.size)).reshape(y.shape), "ones": np.ones_like(y)}[part]
        elements = found.finish(given) if found.finish else given
        assert elements.shape[2:] == found.output
    assert np.allclose(elements.ravel(), expected)


@pytest.mark.parametrize(
    "name",
    [name for name in BY_NAME if name.startswith(("last-position", "last-column", "data-bounded"))],
)
def test_without_spatial_axes_no_channel_is_taken_for_a_position(name: str) -> None:
    """The last axis of such data is its channels."""
    found = made(name, {}, (1, 6), (6, 6))
    assert found is None or (found.finish is not None and found.finish(np.ones((1, 6))).all())


SUMMED = {"strides": (2, 2), "dilations": (2, 2), "output_padding": (1, 1)}
NOTHING = [
    ("pads-exchanged", {"pads_begin": (1,), "pads_end": (1,)}, (1, 1, 3), (1, 1, 2)),
    ("strides-axes-reversed", {"strides": (2,)}, (1, 1, 3), (1, 1, 2)),
    ("output-padding-ignored", {}, (1, 1, 3), (1, 1, 2)),
    ("bias-doubled", {}, (1, 1, 3), (1, 1, 2)),
    ("filter-axes-exchanged", {}, (1, 1, 3), (1, 1, 2)),
    *((f"input-channels-beyond-four-{what}", {}, (1, channels, 1), (channels, 1, 1))
      for what in ("dropped", "unweighted") for channels in (3, 8)),
    # A point under two taps is used.
    ("data-bounded-by-the-kernel", {}, (1, 1, 1), (1, 1, 2)),
    # The kernel does not fit into the data.
    ("convolution-not-transposed", {}, (1, 1, 2), (1, 1, 3)),
    # A point for each position and tap would not fit into memory.
    ("overlaps-hold-the-first-tap", {}, (1, 1, 2**8, 2**8), (1, 1, 5, 5)),
    # A size that is given, or that of SAME, is no sum.
    *((name, {**SUMMED, **given}, (1, 1, 3, 3), (1, 1, 2, 5))
      for name in ("output-padding-times-stride", "kernel-of-the-first-axis", "kernel-plus-dilation")
      for given in ({"output_shape": (6, 6)}, {"auto_pad": "same_upper"})),
]  # fmt: skip


@pytest.mark.parametrize(("name", "attributes", "x", "w"), NOTHING)
def test_what_does_not_apply_changes_nothing(
    name: str, attributes: dict[str, Any], x: tuple[int, ...], w: tuple[int, ...]
) -> None:
    """So that it is no candidate, and no case is said to be affected."""
    assert made(name, attributes, x, w) is None


def test_a_misreading_is_the_reference_of_something_else(smoke_cases: tuple[Case, ...]) -> None:
    computed: Counter[str] = Counter()
    # In the profile `quick` each is computed for its first cases, as some apply to few.
    most = len(smoke_cases) if every(1) == 1 else 40
    for case in smoke_cases:
        expected = expect(case, ONNX)
        if not isinstance(expected, Values) or np.prod(case.x.shape) * np.prod(case.w.shape) > 2**18:
            continue
        operands = {role: array.astype(np.float64) for role, array in make_operands(case.x, case.w, case.b).items()}
        for misreading in misreadings_of(ONNX):
            if computed[misreading.name] == most:
                continue
            found = apply([misreading], write_signature(case, ONNX), ONNX, operands)
            if found is not None:
                y = Truth(found.operands, case.x.dtype).compute_values(found.geometry)
                finished = y if found.finish is None else found.finish(y)
                assert finished.shape[2:] == found.output, (case.id, misreading.name)
                computed[misreading.name] += 1
    assert set(computed) == {misreading.name for misreading in misreadings_of(ONNX)}


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["onnx/ConvTranspose-22", "openvino/GroupConvolutionBackpropData-1"])
def test_the_smoke_tier_notices_every_misreading(name: str, smoke_cases: tuple[Case, ...]) -> None:
    """There is no survivor but what the text also allows."""
    of_misreading = noticed(smoke_cases, DIALECTS[name], once=True)
    unaffected = {name for name, each in of_misreading.items() if not each.affected}
    survivors = {name for name, each in of_misreading.items() if not each.killed}
    # In OpenVINO's texts formula and prose part on the odd unit of either mode: exchanged, both are disputed readings.
    assert survivors == unaffected | (set() if "onnx" in name else {"upper-for-lower"})
    # OpenVINO's have no bias, and pad nothing under SAME, so that no unit is odd there and no total negative.
    never = ("bias-", "unreached-points", "odd_upper", "odd_lower", "negative_same")
    assert unaffected == (set() if "onnx" in name else {name_ for name_ in unaffected if name_.startswith(never)})


INTERACTIONS = {
    ("strides-axes-reversed", "dilations-axes-reversed", "pads-axes-reversed", "pads-exchanged"): (
        "split=two", "split=depthwise", "dtype=f16", "dtype=bf16", "layouts=channels-last", "batch=2", "bias=true",
        "interactions/volumes",
    ),
    (
        "input-channels-beyond-four-dropped", "input-channels-beyond-eight-dropped",
        "input-channels-beyond-sixteen-dropped", "input-channels-beyond-four-unweighted",
        "channels-beyond-four-are-zero",
    ): (
        "shape=line,", "shape=line-point", "shape=plane-point", "shape=volume", "spacing=strided", "spacing=dilated",
        "spacing=added", "padding=pads", "padding=same-lower", "dtype=f16", "layouts=channels-last",
    ),
}  # fmt: skip
"""What a kernel of its own may get wrong, and the calls that kernels of their own are written for."""


@pytest.mark.thorough
def test_the_gate_notices_a_misreading_of_one_kernel_alone(corpus: Corpus) -> None:
    """A runtime may be right but in groups, in a type or in one rank: each has cases that notice it there."""
    cases = list(corpus.cases("gate", ["interactions/**"]))
    of_misreading = noticed(cases, ONNX, {name for names in INTERACTIONS for name in names})
    unnoticed = [
        (name, label)
        for names, labels in INTERACTIONS.items()
        for name in names
        for label in labels
        if not any(label in case for case in of_misreading[name].killed)
    ]
    assert unnoticed == []


def test_what_no_process_can_hold_is_no_mutant(corpus: Corpus) -> None:
    """A stride of 2^63 - 1 that is taken for a dilation asks for an output of that size."""
    dialect = DIALECTS["onnx/ConvTranspose-22"]
    cases = list(corpus.cases("gate", ["**[strides=9223372036854775807]"]))
    values = [problem for case in cases if (problem := Problem(case, dialect)).values is not None]
    misreading = next(each for each in misreadings_of(dialect) if each.name == "strides-for-dilations")
    assert values
    assert {misread_output(problem, misreading) is None for problem in values} == {True}
