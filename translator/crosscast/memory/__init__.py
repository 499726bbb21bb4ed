"""Memory of a training step, computed without running it."""
