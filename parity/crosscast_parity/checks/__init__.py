"""Checks, and the statistics behind them."""
