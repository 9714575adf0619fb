"""A run: worker processes that may crash, a pool that survives a crash, and the file of records."""

from __future__ import annotations
