"""The training loop of a program as a sequence of events."""
