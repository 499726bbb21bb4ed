"""How much memory a training step needs, computed without running it."""
