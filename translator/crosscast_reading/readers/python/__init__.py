"""Shared parts of the readers of Python programs, and the readers for no single framework."""
