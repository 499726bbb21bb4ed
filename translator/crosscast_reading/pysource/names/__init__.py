"""Resolve names: assignments, imports, classes, return values."""
