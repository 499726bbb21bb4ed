"""Weights of one model in several frameworks: the file that maps them, and conversion by it."""
