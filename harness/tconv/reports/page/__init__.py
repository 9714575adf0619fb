"""What the HTML page is made of: its template, style and script, and the data that they show."""
