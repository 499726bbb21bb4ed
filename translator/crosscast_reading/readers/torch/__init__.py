"""PyTorch and the trainers on top of it."""
