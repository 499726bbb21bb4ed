"""The hand-written window of TensorFlow, compiled by XLA."""

from __future__ import annotations

from functools import partial

from contestants import tensorflow_hand

train = partial(tensorflow_hand.train, jit_compile=True)
