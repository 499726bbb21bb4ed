"""Stands in for a cluster."""
