"""What crosscast itself has emitted, read from its code."""
