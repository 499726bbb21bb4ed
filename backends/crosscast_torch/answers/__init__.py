"""What rules of several topics ask of programs for PyTorch."""
