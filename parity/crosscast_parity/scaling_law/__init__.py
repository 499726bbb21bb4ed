"""Check by running that W processes, W-fold accumulation and one large batch train the same."""
