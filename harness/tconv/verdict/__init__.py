"""What came of it: the judge, and the kinds of verdict that records hold."""
