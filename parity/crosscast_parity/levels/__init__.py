"""The levels of a comparison: each takes records and returns checks."""
