"""Migration of programs for Paddle to its current API."""
