"""Rules about outdated APIs in programs for PyTorch."""
