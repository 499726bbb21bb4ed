"""Find mistakes in mixed precision and gradient accumulation."""
