"""OpenVINO ConvolutionBackpropData-1 and GroupConvolutionBackpropData-1. Text: the operation set's pages of those names."""

from __future__ import annotations

from dataclasses import replace

from tconv.dialects.backprop import (
    BACKPROP_ANSWERS,
    BACKPROP_ATTRIBUTES,
    BACKPROP_CONSTRAINTS,
    BACKPROP_DISPUTED,
    BACKPROP_INPUTS,
)
from tconv.dialects.dialect import SAID_ELSEWHERE, Absent, Ambiguity, Dialect, Open, Spelling, Stated
from tconv.vocabulary import OPERATIONS, AutoPad, FilterFormat

_EXPLICIT = Ambiguity(
    "the mode explicit, which is a mode that is specified",
    "auto_pad, 'use explicit padding values from pads_begin and pads_end'",
    f"{BACKPROP_ANSWERS['same'].clause}; auto_pad, 'pads_begin and pads_end attributes are ignored when auto_pad is specified'",
    "The pads are those written: the sentence about the mode itself is stronger than those about all modes.",
)

CONVOLUTION_BACKPROP_DATA_1 = Dialect(
    name="openvino/ConvolutionBackpropData-1",
    text="OpenVINO operation set 1, ConvolutionBackpropData-1",
    answers=BACKPROP_ANSWERS,
    disputed=BACKPROP_DISPUTED,
    constraints=BACKPROP_CONSTRAINTS
    | {
        "data-format-known": Stated("input 1, 'Layout is [N, C_INPUT, X1, ..., XD]': there is one"),
        "filter-format-known": Stated("input 2, 'Weights have shape [C_INPUT, C_OUTPUT, K_D, ..., K_1]': there is one"),
        "filter-channels-match": Stated("input 2, 'C_INPUT is the number of channels in input data tensor shape'"),
        "filter-rank-matches": Stated("input 2, 'Weights have shape [C_INPUT, C_OUTPUT, K_D, ..., K_1]'"),
    },
    spelling=Spelling(
        attributes=BACKPROP_ATTRIBUTES,
        auto_pad={mode: mode.value for mode in AutoPad},
        inputs=BACKPROP_INPUTS,
        written=("strides", "dilations", "pads_begin", "pads_end"),
    ),
    # Every constant is a node there, so Constant is not a level. Identity is of operation set 16.
    operations=OPERATIONS - {"Constant", "Identity"},
    ambiguities=(
        _EXPLICIT,
        Ambiguity(
            "the order of the kernel's axes",
            "the formulas, which pair K_i with X_i, and input 1, '[N, C_INPUT, X1, ..., XD]'",
            "input 2, 'Weights have shape [C_INPUT, C_OUTPUT, K_D, ..., K_1]': the other way round",
            "The kernel's axes have the order of the data's, as in the Convolution whose gradient is computed.",
        ),
    ),
)

_OF_PLAIN = "'computes ConvolutionBackpropData on them', and its page: "
_RANK = "input 1, 'of type T1 and rank 3, 4 or 5'"
_DATA_LAYOUT = "input 1, 'Layout is [N, GROUPS * C_IN, Z, Y, X]'"
_FILTER_LAYOUT = "input 2, 'Layout is [GROUPS, C_IN, C_OUT, X, Y, Z]'"

GROUP_CONVOLUTION_BACKPROP_DATA_1 = replace(
    CONVOLUTION_BACKPROP_DATA_1,
    name="openvino/GroupConvolutionBackpropData-1",
    text="OpenVINO operation set 1, GroupConvolutionBackpropData-1",
    # The page has no formula; it says that the plain operation computes each group.
    answers={question: answer.by(f"{_OF_PLAIN}{clause}") for question, (answer, clause) in BACKPROP_ANSWERS.items()},
    disputed=tuple(
        replace(
            reading, cites=f"{_OF_PLAIN}{reading.cites}", against=reading.against and f"{_OF_PLAIN}{reading.against}"
        )
        for reading in CONVOLUTION_BACKPROP_DATA_1.disputed
    ),
    constraints={
        name: replace(answer, clause=f"{_OF_PLAIN}{answer.clause}")
        for name, answer in CONVOLUTION_BACKPROP_DATA_1.constraints.items()
    }
    | {
        "at-least-one-spatial-axis": Stated(_RANK),
        "at-most-three-spatial-axes": Stated(_RANK),
        "two-spatial-axes": Absent(_RANK),
        "two-or-three-spatial-axes": Absent(_RANK),
        "data-format-known": Stated(f"{_DATA_LAYOUT}: there is one"),
        "filter-format-known": Stated(f"{_FILTER_LAYOUT}: there is one"),
        "filter-channels-match": Stated(f"{_DATA_LAYOUT}; {_FILTER_LAYOUT}"),
        "filter-rank-matches": Stated("input 2, 'of type T1 and rank 4, 5 or 6'"),
        "one-type": Stated("inputs 1 and 2 are 'of type T1'"),
        "type-known": Absent("types, 'T1: any floating point type'"),
        "groups-positive": Open("'Number of groups is derived from the kernel shape': 0 is not spoken of"),
        "channels-divisible": Stated(f"{_DATA_LAYOUT}; {_FILTER_LAYOUT}"),
    },
    spelling=replace(
        CONVOLUTION_BACKPROP_DATA_1.spelling,
        # Groups are the first axis of the filter.
        attributes=BACKPROP_ATTRIBUTES | {"groups": SAID_ELSEWHERE},
    ),
    filter_format=FilterFormat.GIOX,
    ambiguities=(
        _EXPLICIT,
        Ambiguity(
            "the order of the kernel's axes",
            f"{_DATA_LAYOUT}",
            f"{_FILTER_LAYOUT}: the other way round",
            "The kernel's axes have the order of the data's, as in the Convolution whose gradient is computed.",
        ),
    ),
)
