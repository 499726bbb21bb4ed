"""Runs that are made, in the formats of tools that show runs."""
