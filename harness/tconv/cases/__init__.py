"""What is run: a case, the call that expresses it in a dialect, its operands and layouts, and patterns over cases."""
