"""Readers of programs for third-party trainers."""
