"""What runs cases on purpose: to measure the corpus, and to find out why a case fails."""
