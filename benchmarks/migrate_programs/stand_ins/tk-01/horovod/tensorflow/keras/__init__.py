"""A stand-in for horovod.tensorflow.keras."""

import tensorflow as tf

from horovod.tensorflow import allreduce, init, local_rank, rank, size

__all__ = ["allreduce", "callbacks", "init", "local_rank", "rank", "size"]


class callbacks:
    """The callbacks of one process."""

    class BroadcastGlobalVariablesCallback(tf.keras.callbacks.Callback):
        """Broadcasts nothing."""

        def __init__(self, root):
            super().__init__()
