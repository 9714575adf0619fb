"""A case for a reader without tconv: a folder with a model and a script, a snippet, a bug report."""
