"""Imported by the program, and missing in its repository."""
