"""Functions under way: what their names, objects, loops and losses are."""
