"""Made-up Horovod: one process."""
