"""A YAML file as plain values that know their places, or as a model with every error at its line and column."""
