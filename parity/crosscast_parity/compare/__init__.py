"""Complete comparisons, from options to report."""
