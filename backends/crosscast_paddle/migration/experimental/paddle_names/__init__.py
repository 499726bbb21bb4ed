"""Names of `paddle.fluid` and what they are in Paddle 3: rows, and the engine that applies them."""
