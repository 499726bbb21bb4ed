"""Questions about a training step, answered from its events."""
