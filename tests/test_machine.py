"""The facts of the machine are gathered where the runtime is, and say what it may use there."""

from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING

import pytest

from small_corpus import records
from tconv.backends import machine, onednn_isa
from tconv.records.record_file import read
from tconv.records.shards import joined_facts

if TYPE_CHECKING:
    from pathlib import Path

X86 = "processor\t: 0\nmodel name\t: Acme 3000\nflags\t\t: fpu sse4_1 avx avx2 avx512_fp16 amx_bf16\nbogomips : 1\n\n"
ARM = "processor\t: 0\nFeatures\t: fp asimd sve\n\nprocessor\t: 1\nFeatures\t: fp asimd sve sve2\n\n"


@pytest.fixture
def cpuinfo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    path = tmp_path / "cpuinfo"
    monkeypatch.setattr(machine, "_CPUINFO", path)
    return path


def test_what_linux_says_of_the_processor(cpuinfo: Path) -> None:
    cpuinfo.write_text(X86, encoding="ascii")
    facts = machine.describe()
    assert (facts["processor"], facts["simd"]) == ("Acme 3000", "sse4_1 avx avx2 avx512_fp16 amx_bf16")
    assert facts["architecture"] == platform.machine()
    assert int(facts["cores"]) > 0
    assert facts["memory"].endswith(" GiB")


def test_an_arm_processor_has_features(cpuinfo: Path) -> None:
    cpuinfo.write_text(ARM, encoding="ascii")
    assert machine.describe()["simd"] == "asimd sve"


def test_a_runtime_that_tells_its_extensions_has_no_others(cpuinfo: Path) -> None:
    """Neither what it leaves out of the processor's nor what the processor does not have."""
    cpuinfo.write_text(X86, encoding="ascii")
    assert machine.describe(("avx", "avx2", "amx_fp16"))["simd"] == "avx avx2"


def test_the_memory_is_in_whole_gib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": 2**22 - 1000, "SC_PAGE_SIZE": 4096}.__getitem__)
    assert machine.describe()["memory"] == "16 GiB"


@pytest.mark.usefixtures("cpuinfo")
def test_what_a_system_does_not_tell_is_left_out() -> None:
    assert "simd" not in machine.describe()


def test_variables_that_change_kernels_are_recorded() -> None:
    environ = {"ONEDNN_MAX_CPU_ISA": "AVX2", "DNNL_DEFAULT_FPMATH_MODE": "", "HOME": "/"}
    assert machine.variables(environ) == {"ONEDNN_MAX_CPU_ISA": "AVX2", "DNNL_DEFAULT_FPMATH_MODE": ""}


def test_each_level_of_onednn_has_its_extensions() -> None:
    levels = {level: onednn_isa.extensions(isa) for level, isa in onednn_isa.LEVELS.items()}
    assert set(machine.SIMD) >= {word for words in levels.values() for word in words}
    assert [level for level, words in levels.items() if "avx512_fp16" not in words][-1] == "AVX512_CORE_BF16"
    assert [level for level, words in levels.items() if "avx512bw" not in words][-1] == "AVX2_VNNI_2"
    assert levels["AVX2"] == ("sse4_1", "sse4_2", "avx", "avx2", "fma", "f16c")


def test_a_level_has_its_name_and_an_unknown_one_its_number() -> None:
    assert onednn_isa.name(0xFEF) == "AVX512_CORE_AMX"
    assert onednn_isa.name(0xFFFFFF) == "0xffffff"


@pytest.mark.parametrize(
    ("environ", "limited"),
    [
        ({}, False),
        ({"ONEDNN_MAX_CPU_ISA": "avx2"}, True),
        ({"DNNL_MAX_CPU_ISA": "AVX2"}, True),
        ({"ONEDNN_MAX_CPU_ISA": "DEFAULT", "DNNL_MAX_CPU_ISA": "AVX2"}, False),
        ({"ONEDNN_MAX_CPU_ISA": "AVX3"}, False),
    ],
    ids=str,
)
def test_the_environment_limits_a_onednn_inside_another_runtime(environ: dict[str, str], limited: bool) -> None:  # noqa: FBT001
    """The newer name of the variable wins, in either case of letters; a level that is none limits nothing."""
    assert onednn_isa.limit(environ) == (onednn_isa.extensions(0x7) if limited else None)


def test_the_header_of_a_run_has_the_machine_of_its_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    backend = read(records("Right", tmp_path)).header.backend
    assert backend.machine == machine.describe()
    assert backend.environment["ONEDNN_MAX_CPU_ISA"] == "AVX2"


def test_a_run_that_is_joined_again_names_each_processor_once() -> None:
    both = joined_facts([{"processor": "A", "system": "Linux"}, {"processor": "B", "system": "Linux"}])
    assert joined_facts([both, {"processor": "A", "system": "Linux"}]) == {"processor": "A | B", "system": "Linux"}
