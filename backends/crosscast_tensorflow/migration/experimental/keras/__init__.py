"""Shared code of the codemods to Keras 3."""
