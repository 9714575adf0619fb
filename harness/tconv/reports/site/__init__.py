"""The site of runtimes: who follows what, a page for each engine, question and finding, as static files."""
