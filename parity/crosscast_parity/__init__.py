"""Runs emitted scripts, one process per framework, and compares what they did."""
