"""What all runs are given: weights and batches."""
