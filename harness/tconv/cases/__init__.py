"""Cases and their parts: a case, the call that expresses it in a dialect, operands, layouts, and patterns."""
