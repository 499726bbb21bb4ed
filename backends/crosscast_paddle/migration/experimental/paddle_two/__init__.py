"""What Paddle 2 programs need in order to mean the same in Paddle 3."""
