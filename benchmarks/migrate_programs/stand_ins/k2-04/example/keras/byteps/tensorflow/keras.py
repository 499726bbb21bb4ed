"""One process without BytePS."""

import types

import tensorflow as tf


def init():
    """Do nothing."""


def local_rank():
    return 0


def push_pull(tensor):
    return tensor


def DistributedOptimizer(optimizer):
    return optimizer


callbacks = types.SimpleNamespace(
    BroadcastGlobalVariablesCallback=lambda rank: tf.keras.callbacks.Callback()
)
