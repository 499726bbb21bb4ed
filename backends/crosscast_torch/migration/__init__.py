"""Migration of programs for PyTorch to its current API."""
