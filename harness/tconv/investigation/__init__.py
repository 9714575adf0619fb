"""Runs of cases that measure the corpus, or find out why a case fails."""
