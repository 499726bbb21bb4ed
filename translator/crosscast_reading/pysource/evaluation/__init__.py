"""Expressions evaluated, one module a kind of expression; nothing is run."""
