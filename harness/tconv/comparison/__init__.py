"""Comparisons: the readings that each backend follows, and what changes from one text to another."""
