"""Summaries that are not written."""
