"""Readers of programs for PyTorch."""
