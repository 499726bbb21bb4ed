"""Processes that run scripts, and the store of their results."""
