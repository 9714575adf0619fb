"""The words of oneDNN's C API for its numbers: attributes, statuses, math modes."""

from __future__ import annotations

ATTRIBUTES = {
    "groups": 0x32,
    "dilations": 0x41,
    "dst_shape": 0x42,
    "output_padding": 0x45,
    "pads_begin": 0x46,
    "pads_end": 0x47,
    "strides": 0x4B,
    "weights_shape": 0x4C,
    "auto_pad": 0x81,
    "data_format": 0x83,
    "weights_format": 0x87,
}
"""dnnl_graph_op_attr_t, by the attribute's name."""

UNIMPLEMENTED = 3
_STATUS = {
    1: "out_of_memory",
    2: "invalid_arguments",
    UNIMPLEMENTED: "unimplemented",
    4: "last_impl_reached",
    5: "runtime_error",
    6: "not_required",
    7: "invalid_graph",
    8: "invalid_graph_op",
    9: "invalid_shape",
    10: "invalid_data_type",
}

FPMATH = {0: "strict", 1: "bf16", 2: "f16", 3: "any", 4: "tf32"}
"""dnnl_fpmath_mode_t."""


class LibraryError(Exception):
    """A function of the library did not succeed: which one, and its status."""

    def __init__(self, step: str, status: int) -> None:
        self.status = _STATUS.get(status, str(status))
        super().__init__(f"{step}: {self.status}")
