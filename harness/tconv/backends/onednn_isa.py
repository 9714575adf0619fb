"""The instruction sets by which oneDNN chooses its kernels, with their vector extensions.

`ONEDNN_MAX_CPU_ISA` limits them; the names and bits are those of dnnl_cpu_isa_t in the library's dnnl_types.h.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

LEVELS: Final = {
    "SSE41": 0x1,
    "AVX": 0x3,
    "AVX2": 0x7,
    "AVX2_VNNI": 0xF,
    "AVX2_VNNI_2": 0x1F,
    "AVX512_CORE": 0x27,
    "AVX512_CORE_VNNI": 0x67,
    "AVX512_CORE_BF16": 0xE7,
    "AVX512_CORE_FP16": 0x1EF,
    "AVX10_1_512": 0x1EF,
    "AVX512_CORE_AMX": 0xFEF,
    "AVX10_1_512_AMX": 0xFEF,
    "AVX512_CORE_AMX_FP16": 0x1FEF,
    "AVX10_1_512_AMX_FP16": 0x1FEF,
}
"""The library's names; if a set has two names, the older is first."""

_EXTENSIONS: Final = {
    0x1: ("sse4_1", "sse4_2"),
    0x2: ("avx",),
    0x4: ("avx2", "fma", "f16c"),
    0x8: ("avx_vnni",),
    0x10: ("avx_ne_convert", "avx_vnni_int8"),
    0x20: ("avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"),
    0x40: ("avx512_vnni",),
    0x80: ("avx512_bf16",),
    0x100: ("avx512_fp16",),
    0x200: ("amx_tile",),
    0x400: ("amx_int8",),
    0x800: ("amx_bf16",),
    0x1000: ("amx_fp16",),
}
"""The vector extensions of each bit, in Linux's words."""


def name(isa: int) -> str:
    """Return the library's name of an instruction set; its number if it has no name here."""
    return next((word for word, bits in LEVELS.items() if bits == isa), hex(isa))


def extensions(isa: int) -> tuple[str, ...]:
    """Return the vector extensions that the library may use, in Linux's words."""
    return tuple(word for bit, words in _EXTENSIONS.items() if isa & bit for word in words)


def limit(environ: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the vector extensions to which the environment limits a oneDNN; None if there is no limit.

    It is for runtimes that contain oneDNN and do not report its set. A name that oneDNN does not know is no limit.
    """
    chosen = environ.get("ONEDNN_MAX_CPU_ISA", environ.get("DNNL_MAX_CPU_ISA", ""))
    isa = LEVELS.get(chosen.upper())
    return None if isa is None else extensions(isa)
