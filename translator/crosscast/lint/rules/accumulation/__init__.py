"""Rules about gradient accumulation."""
