"""The parts of the HTML page: template, style, script, and their data."""
