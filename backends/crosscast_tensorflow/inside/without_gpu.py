"""Let programs that ask for a GPU train on the CPU, where there is none.

TensorFlow itself places on the CPU what cannot be where it is asked for, unless a program turns
that off; sessions do so only where they are asked to.
"""

from __future__ import annotations

import functools
from typing import Any

import tensorflow as tf
from tensorflow.python.client import session as sessions


def stay_on_cpu() -> None:
    """Place on the CPU what a program places on a GPU, also in sessions."""
    tf.config.set_soft_device_placement(True)
    tf.config.set_soft_device_placement = lambda enabled: None
    original = sessions.BaseSession.__init__

    @functools.wraps(original)
    def made(self: Any, target: str = "", graph: Any = None, config: Any = None) -> None:
        softer = tf.compat.v1.ConfigProto()
        softer.CopyFrom(tf.compat.v1.ConfigProto() if config is None else config)
        softer.allow_soft_placement = True
        original(self, target, graph, softer)

    sessions.BaseSession.__init__ = made
