"""What is owed: a value under each reading of a text, or a refusal; the reference, and how far from it is allowed."""
