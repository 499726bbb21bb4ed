"""Rules about precision in programs for PyTorch."""
