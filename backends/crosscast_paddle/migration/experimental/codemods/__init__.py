"""The codemods of Paddle, one module each."""
