"""What readers of Python programs share, and those for no single framework."""
