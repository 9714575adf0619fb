"""What changes from one text to another, and from one runtime to another; the calls of a model."""
