"""Which engine a backend asks: one engine may have several backends, each for another door to it."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

ENGINES: Mapping[str, str] = MappingProxyType(
    {
        "executorch": "executorch",
        "iree": "IREE",
        "jax": "JAX",
        "litert": "LiteRT",
        "mlx": "MLX",
        "mnn": "MNN",
        "ncnn": "ncnn",
        "onednn": "oneDNN",
        "onnx-reference": "onnx, its reference",
        "onnxruntime": "ONNX Runtime",
        "opencv": "OpenCV",
        "openvino": "OpenVINO",
        "paddle": "PaddlePaddle",
        "tensorflow": "TensorFlow",
        "tfjs": "TensorFlow.js",
        "tinygrad": "tinygrad",
        "torch": "PyTorch",
        "tract": "tract",
        "tvm": "TVM",
    }
)
"""The engines that tconv can ask, each once."""
_ELSEWHERE = {"onnx-shape-inference": "onnx-reference"}


def engine_name(backend: str) -> tuple[str, str]:
    """Return the key and the name of the engine of a backend; a backend that is not known is an engine of its own.

    The key has small letters, digits and hyphens alone, so that it can be an address.
    """
    for key in (backend, *(of for start, of in _ELSEWHERE.items() if backend.startswith(start))):
        # `openvino-onnx` is another door to `openvino`.
        for engine in sorted(ENGINES, key=len, reverse=True):
            if key == engine or key.startswith(f"{engine}-"):
                return engine, ENGINES[engine]
    return re.sub(r"[^a-z0-9]+", "-", backend.lower()).strip("-"), backend
