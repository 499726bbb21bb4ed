"""From facts to a recipe."""
