"""Find mistakes of mixed precision and accumulation in training programs."""
