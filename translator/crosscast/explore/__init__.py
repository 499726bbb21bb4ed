"""The explorer: a page that shows which emitted lines carry which field of a recipe."""
