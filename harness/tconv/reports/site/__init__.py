"""The site of runtimes: which engine follows what, with pages for engines, questions and findings, as static files."""
