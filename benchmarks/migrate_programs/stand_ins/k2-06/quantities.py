"""Not used in training."""

ms = s = Hz = 1.0
