"""Calls, and the signatures that name their arguments."""
