"""What changes between two texts, and between two runtimes; the calls of a model."""
