"""Rules about outdated APIs in programs for Paddle."""
