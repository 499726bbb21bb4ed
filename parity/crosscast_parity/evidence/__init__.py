"""Recorded runs held against recipes."""
