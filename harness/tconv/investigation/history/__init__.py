"""Since which release a runtime does what it does: each in an environment of its own, asked through a small runner."""
