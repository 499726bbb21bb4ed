"""Sweeps: recipes x targets x seeds x settings, each cell a training in a process of its own."""
