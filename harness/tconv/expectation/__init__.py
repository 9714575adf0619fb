"""The expectation of a case: values under each reading of a text, or a refusal; the reference, and its error bound."""
