"""The codemods of PyTorch, one module each."""
