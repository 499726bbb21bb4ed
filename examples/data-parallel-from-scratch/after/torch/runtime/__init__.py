"""What surrounds the training step: command line, rows, checkpoints, trace and status."""
