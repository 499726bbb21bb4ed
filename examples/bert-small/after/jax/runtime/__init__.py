"""What surrounds the step: command line, rows, checkpoints, trace and status."""
