"""Edits of texts that leave everything else as it is."""
