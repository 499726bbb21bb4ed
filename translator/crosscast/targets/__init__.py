"""What targets are and what each can express: rows, defaults, verdicts."""
