"""Rules about outdated in programs for Paddle."""
