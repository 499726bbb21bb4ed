"""Bugs planted to see whether the levels find them."""
