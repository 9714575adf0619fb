"""Cases are prepared, asked and judged a few at a time, and each is judged as if it were one."""

from __future__ import annotations

from tconv.cases.case import Attributes, Case, Operand
from tconv.dialects import find_dialect
from tconv.execution.evaluation import Evaluator
from wrong_backends import ReusesItsOutput

ONNX = find_dialect("onnx/ConvTranspose-22")


def cases(sizes: list[int]) -> list[Case]:
    """Return cases with such sizes of the data."""
    return [
        Case(f"a/b[{place}]", Attributes(), Operand((1, 1, size), "f32"), Operand((1, 1, 3), "f32"), None)
        for place, size in enumerate(sizes)
    ]


def test_a_backend_may_use_the_memory_of_its_output_again() -> None:
    """An answer is judged after the next is made, and is still what it was."""
    evaluator = Evaluator(ReusesItsOutput(), "reuses", ONNX, None)
    records = list(evaluator.evaluate_all(cases([3, 4, 5, 6])))
    assert [record.verdict.kind for record in records] == ["agreed"] * 4
