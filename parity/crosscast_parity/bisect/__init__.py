"""Which fields of a recipe explain a difference."""
