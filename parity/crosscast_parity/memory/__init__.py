"""Memory that runs take, measured and drawn."""
