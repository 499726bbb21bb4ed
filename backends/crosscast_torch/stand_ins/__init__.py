"""Packages that stand in for ones that are not installed, in observed runs only."""
