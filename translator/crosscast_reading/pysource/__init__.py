"""Python sources taken apart without running them: names, values, flags, calls."""
