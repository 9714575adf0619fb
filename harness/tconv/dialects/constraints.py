"""Every constraint that a text may state on attributes and operands: a table of named predicates.

Which of them a dialect states is part of the dialect (see `dialect`).
"""

from __future__ import annotations

from functools import partial

from tconv.dialects import predicates
from tconv.dialects.constraint import Constraint
from tconv.vocabulary import AutoPad, DataFormat, DType, FilterFormat

_TABLE = (
    Constraint(
        "strides-length",
        "strides has an entry for each spatial axis",
        partial(predicates.entry_for_each_axis, "strides"),
        needed=True,
    ),
    Constraint(
        "dilations-length",
        "dilations has an entry for each spatial axis",
        partial(predicates.entry_for_each_axis, "dilations"),
        needed=True,
    ),
    Constraint(
        "pads-length", "pads have a beginning and an end for each spatial axis", predicates.pads_length, needed=True
    ),
    Constraint(
        "output-padding-length",
        "output_padding has an entry for each spatial axis",
        partial(predicates.entry_for_each_axis, "output_padding"),
        needed=True,
    ),
    Constraint(
        "output-shape-length",
        "output_shape has an entry for each spatial axis, none for batch and channels",
        partial(predicates.entry_for_each_axis, "output_shape"),
        needed=True,
    ),
    Constraint(
        "kernel-shape-length",
        "kernel_shape has an entry for each spatial axis",
        partial(predicates.entry_for_each_axis, "kernel_shape"),
        needed=True,
    ),
    Constraint(
        "strides-positive", "strides are positive", partial(predicates.entries_at_least, 1, "strides"), needed=True
    ),
    Constraint(
        "dilations-positive",
        "dilations are positive",
        partial(predicates.entries_at_least, 1, "dilations"),
        needed=True,
    ),
    Constraint("pads-non-negative", "pads are not negative", predicates.pads_non_negative),
    Constraint(
        "output-padding-non-negative",
        "output_padding is not negative",
        partial(predicates.entries_at_least, 0, "output_padding"),
    ),
    Constraint(
        "output-shape-non-negative",
        "output_shape is not negative",
        partial(predicates.entries_at_least, 0, "output_shape"),
        needed=True,
    ),
    Constraint("groups-positive", "groups is positive", predicates.groups_positive, needed=True),
    Constraint(
        "output-padding-below-stride-or-dilation",
        "output_padding is less than the larger of stride and dilation of its axis",
        predicates.output_padding_below_stride_or_dilation,
    ),
    Constraint("pads-without-auto-pad", "pads are not written beside a padding mode", predicates.pads_without_auto_pad),
    Constraint(
        "kernel-shape-matches",
        "kernel_shape equals the filter's spatial shape",
        predicates.kernel_shape_matches,
        needed=True,
    ),
    Constraint(
        "channels-divisible",
        "the number of input channels is divisible by groups",
        predicates.channels_divisible,
        needed=True,
    ),
    Constraint(
        "filter-channels-match",
        "the filter has as many input channels as the data",
        predicates.filter_channels_match,
        needed=True,
    ),
    Constraint(
        "filter-rank-matches", "the filter has the rank of the data", predicates.filter_rank_matches, needed=True
    ),
    Constraint("bias-rank", "the bias has one dimension", predicates.bias_rank, needed=True),
    Constraint("bias-length", "the bias has an entry for each output channel", predicates.bias_length, needed=True),
    Constraint("one-type", "all operands have the type of the data", predicates.one_type),
    Constraint(
        "auto-pad-known",
        "auto_pad is one of the modes of the text",
        partial(predicates.one_of, tuple(AutoPad), "auto_pad"),
        needed=True,
    ),
    Constraint(
        "data-format-known",
        "data_format is one of the layouts of the text",
        partial(predicates.one_of, tuple(DataFormat), "data_format"),
        needed=True,
    ),
    Constraint(
        "filter-format-known",
        "filter_format is one of the layouts of the text",
        partial(predicates.one_of, tuple(FilterFormat), "filter_format"),
        needed=True,
    ),
    Constraint("strides-given", "strides are written", partial(predicates.written, "strides")),
    Constraint("dilations-given", "dilations are written", partial(predicates.written, "dilations")),
    Constraint("pads-given", "pads are written", predicates.pads_given),
    Constraint("without-auto-pad", "there is no padding mode", predicates.no_auto_pad),
    Constraint("without-output-shape", "there is no output_shape", partial(predicates.not_written, "output_shape")),
    Constraint("without-kernel-shape", "there is no kernel_shape", partial(predicates.not_written, "kernel_shape")),
    Constraint("without-groups", "there is no groups attribute", predicates.no_groups),
    Constraint("without-bias", "there is no bias input", predicates.no_bias),
    Constraint("without-bf16", "bfloat16 is not among the types", partial(predicates.without_type, DType.BF16)),
    Constraint("without-f64", "float64 is not among the types", partial(predicates.without_type, DType.F64)),
    Constraint("at-least-one-spatial-axis", "the data has rank 3 or greater", predicates.at_least_one_spatial_axis),
    Constraint(
        "two-or-three-spatial-axes", "the data has two or three spatial axes", predicates.two_or_three_spatial_axes
    ),
    Constraint("at-most-three-spatial-axes", "the data has rank 5 or less", predicates.at_most_three_spatial_axes),
    Constraint("batch-not-empty", "the batch is not empty", predicates.batch_not_empty),
    Constraint("channels-not-empty", "there are input and output channels", predicates.channels_not_empty),
    Constraint("spatial-not-empty", "no spatial size of the data is 0", predicates.spatial_not_empty),
    Constraint("kernel-not-empty", "no spatial size of the filter is 0", predicates.kernel_not_empty),
    Constraint("output-not-empty", "no size of the output is 0", predicates.left_to_the_resolver),
    Constraint(
        "output-size-non-negative", "no size of the output is below 0", predicates.left_to_the_resolver, needed=True
    ),
)
CONSTRAINTS = {constraint.name: constraint for constraint in _TABLE}
"""All constraints by name."""
