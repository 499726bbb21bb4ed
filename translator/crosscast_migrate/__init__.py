"""Migrate scripts to the current API of their framework, or to another framework."""
