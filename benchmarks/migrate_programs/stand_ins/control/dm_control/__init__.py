"""A made-up body that is moved and drawn."""
