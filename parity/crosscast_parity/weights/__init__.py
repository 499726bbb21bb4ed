"""Which weight of one framework's model is which of another's, found and proved."""
