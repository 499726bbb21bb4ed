"""A stand-in for Horovod: one process."""
