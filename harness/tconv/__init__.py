"""tconv: the conformance harness for transposed convolution."""

__version__ = "0.1.0"
