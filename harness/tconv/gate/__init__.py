"""Whether a run is green: known deviations, and the status of every record."""
