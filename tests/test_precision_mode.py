"""oneDNN in a mode that the environment chooses: it may then compute f32 with the operands rounded to bfloat16."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tconv.records.record_file import read

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("isa", ["AVX2", "DEFAULT"])
def test_a_mode_that_rounds_operands_is_noticed_where_the_processor_has_it(tmp_path: Path, isa: str) -> None:
    """3.2.0 rounds f32 operands on AMX alone: there each failure is named after it, and elsewhere nothing fails."""
    environment = os.environ | {"DNNL_DEFAULT_FPMATH_MODE": "BF16", "ONEDNN_MAX_CPU_ISA": isa}
    command = [sys.executable, "-m", "tconv", "run", "--backend", "onednn", "--tier", "smoke", "--output", tmp_path]
    done = subprocess.run([*command, "real-data/**"], env=environment, capture_output=True, text=True, check=False)
    run = read(next(tmp_path.glob("*.jsonl")))
    assert run.header.backend.environment["DNNL_DEFAULT_FPMATH_MODE"] == "BF16"
    failures = [record for record in run.records if record.verdict.kind == "differed"]
    assert {str(name) for record in failures for name in record.diagnosis} <= {"operands-rounded-to-bf16"}
    assert all(record.diagnosis for record in failures)
    rounds = "amx_bf16" in run.header.backend.machine["simd"].split()
    assert (done.returncode, bool(failures)) == (int(rounds), rounds), done.stdout + done.stderr
