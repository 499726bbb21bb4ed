"""Imported, never used."""

es = None
