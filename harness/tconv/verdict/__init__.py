"""The judge, and the kinds of verdict that records hold."""
