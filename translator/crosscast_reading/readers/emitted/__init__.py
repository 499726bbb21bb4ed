"""Readers of the files that crosscast emits."""
