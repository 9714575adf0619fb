"""Records: the file that every report is made from, the arrays of wrong outputs, and what makes two failures alike."""
