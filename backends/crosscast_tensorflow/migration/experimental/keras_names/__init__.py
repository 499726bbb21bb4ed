"""Names and arguments of Keras 2 that Keras 3 does not have."""
