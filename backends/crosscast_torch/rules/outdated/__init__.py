"""Rules about outdated in programs for PyTorch."""
