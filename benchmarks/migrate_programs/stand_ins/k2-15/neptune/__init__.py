"""A tracker that keeps nothing."""
