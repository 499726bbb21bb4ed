"""Sweeps over recipes x targets x seeds x settings, with each cell trained in a separate
process."""
