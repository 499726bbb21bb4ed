"""Rules about Paddle alone."""
