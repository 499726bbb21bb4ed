"""Which conditions end a window of micro-batches."""
