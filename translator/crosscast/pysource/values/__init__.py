"""What expressions are worth, as far as that can be known."""
