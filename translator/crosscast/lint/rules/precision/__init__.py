"""Rules about precision."""
