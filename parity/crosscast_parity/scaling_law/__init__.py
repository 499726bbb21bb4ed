"""W processes, W times the accumulation, one large batch: the same training, proven by running."""
