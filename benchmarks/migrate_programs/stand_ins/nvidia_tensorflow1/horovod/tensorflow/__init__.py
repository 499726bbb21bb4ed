"""A stand-in for horovod.tensorflow: one process."""

from horovod_one_process import *  # noqa: F403
