"""Running cases: workers that may die, a pool that survives them, and the record file they fill."""

from __future__ import annotations
