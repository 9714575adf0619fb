"""Comparisons: what changes from one text to another, and from one runtime to another."""
