"""executorch with XNNPACK's delegate, as `runner_executorch.py` asks it without.

What XNNPACK does not take, the portable kernels would compute, whose answers `runner_executorch.py` has: `unsupported`.
executorch's newer `to_edge_transform_and_lower` has the same partitioner, and takes five seconds a call in place of one.
"""

import sys

import runner_executorch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from runner_protocol import Unsupported, serve


def answer(run, arrays):
    """Ask XNNPACK."""
    return runner_executorch.answer(run, arrays, _delegated)


def _delegated(edge):
    edge = edge.to_backend(XnnpackPartitioner())
    nodes = edge.exported_program().graph.nodes
    if not any(getattr(node.target, "__name__", "") == "executorch_call_delegate" for node in nodes):
        raise Unsupported("XNNPACK's partitioner leaves the call to the portable kernels")
    return edge


if __name__ == "__main__":
    serve("executorch-xnnpack", runner_executorch.version(), sys.argv[1], answer)
