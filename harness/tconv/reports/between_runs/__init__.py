"""How each case changed between two runs."""
