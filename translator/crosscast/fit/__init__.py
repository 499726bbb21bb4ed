"""Make a recipe fit a memory limit without changing what it trains (`crosscast plan`)."""
