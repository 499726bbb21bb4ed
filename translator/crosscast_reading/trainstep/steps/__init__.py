"""Training steps: found, cut out of a walk, and what their loops are for."""
