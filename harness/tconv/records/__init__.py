"""Records: the file that every report is made from, the arrays of wrong outputs, and the comparison of failures."""
