"""What is expected: values under each reading of a text, or a refusal; the reference, and what error is allowed."""
