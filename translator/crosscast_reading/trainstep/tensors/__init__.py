"""Types of tensors in the forward pass of a model, as far as mixed precision decides them."""
