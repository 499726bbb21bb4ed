"""Migrate: from a stranded script to a working one on the same or another framework."""
