"""The text of a module as a tree: scopes, nodes, dead code."""
