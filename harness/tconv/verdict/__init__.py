"""The judge, and the kinds of verdicts."""
