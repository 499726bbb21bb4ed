"""Targets and what they support: rows, defaults, verdicts."""
