"""Who answers what: the readings that a backend follows, and what changes from one text to another."""
