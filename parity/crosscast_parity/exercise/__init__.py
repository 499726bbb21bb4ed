"""Which fields of a recipe the runs of a comparison exercised."""
