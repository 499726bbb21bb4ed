"""Steps on a toy: an emitted training step beside the reference, window by window."""
