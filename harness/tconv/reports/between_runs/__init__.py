"""What became of every case between two runs."""
