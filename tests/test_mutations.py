"""The script that breaks the product in one line at a time knows lines that are there."""

from __future__ import annotations

import pytest

from mutations import MUTATIONS, ROOT, Mutation


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: f"{mutation.module}: {mutation.line}")
def test_a_mutation_changes_a_line(mutation: Mutation) -> None:
    """What is to be changed stands in its module, and the tests that are to notice it are there."""
    assert mutation.line in (ROOT / "harness" / "tconv" / mutation.module).read_text(encoding="utf-8")
    for word in mutation.tests.split():
        assert (ROOT / "tests" / f"test_{word}.py").is_file()
