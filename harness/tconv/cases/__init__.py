"""What is asked: a case, the call that says it in a dialect, its operands and layouts, and patterns over cases."""
