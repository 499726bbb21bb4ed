"""Rules about loss scaling in programs for PyTorch."""
