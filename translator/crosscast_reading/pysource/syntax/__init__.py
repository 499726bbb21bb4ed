"""The text of a file as a tree: parsing, nodes, dead code."""
