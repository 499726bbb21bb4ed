"""Comparisons from beginning to end."""
