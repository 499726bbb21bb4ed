"""Made-up images of the smallest size that the network takes."""

import numpy as np
import tensorflow as tf


class Dataset:
    def __init__(self, batch_size=1, amp=False, **_):
        self.batch_size, self.dtype = batch_size, tf.float16 if amp else tf.float32

    def train_fn(self, drop_remainder=False):
        rng = np.random.default_rng(0)
        images = rng.normal(size=(4, 188, 188, 1)).astype("float32")
        labels = tf.one_hot((images[:, :4, :4, 0] > 0).astype("int32"), 2)
        data = tf.data.Dataset.from_tensor_slices((tf.cast(images, self.dtype), labels))
        return data.repeat().batch(self.batch_size)
