"""Not used in training."""
