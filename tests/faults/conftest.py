"""Injected faults: `tox -e faults` runs all; TCONV_FAULTS=40 draws so many of them, always the same."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import pytest

from faults.place import Place

if TYPE_CHECKING:
    from collections.abc import Iterator


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Draw the faults of a short run."""
    faults = [item for item in items if "faults" in item.path.parts]
    if count := int(os.environ.get("TCONV_FAULTS", "0")):
        left_out = set(faults).difference(random.Random(14).sample(faults, min(count, len(faults))))  # noqa: S311 - to be repeated
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture
def place() -> Iterator[Place]:
    with Place() as made:
        yield made
