"""A callback that does nothing."""

import tensorflow as tf


class NeptuneCallback(tf.keras.callbacks.Callback):
    def __init__(self, **settings):
        super().__init__()
