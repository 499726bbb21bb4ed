"""Paddle: dygraph, static graphs, fleet."""
