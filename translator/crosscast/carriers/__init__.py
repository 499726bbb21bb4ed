"""Which emitted lines carry which field of a recipe."""
