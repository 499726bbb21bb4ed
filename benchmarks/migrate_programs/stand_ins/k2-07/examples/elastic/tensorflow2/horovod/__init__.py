"""One process without Horovod."""
