"""What depends on oneDNN: `facts_onednn.py {0,1,default}`; TensorFlow reads it on import."""

from __future__ import annotations

import json
import os
import sys

os.environ.pop("TF_ENABLE_ONEDNN_OPTS", None)
if sys.argv[1] != "default":
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = sys.argv[1]

import tensorflow as tf


def counts() -> bool:
    """Return whether the CPU's allocator counts its bytes."""
    tf.ones((2, 2))
    try:
        return "peak" in tf.config.experimental.get_memory_info("CPU:0")
    except ValueError:
        return False


def rounds() -> bool:
    """Return whether a product in bfloat16 is rounded; otherwise its last 16 bits are cut off."""
    numbers = tf.random.stateless_normal((64, 64), (1, 2))
    half = tf.cast(numbers, tf.bfloat16)
    exact = tf.matmul(tf.cast(half, tf.float32), tf.cast(half, tf.float32))
    same = tf.matmul(half, half) == tf.cast(exact, tf.bfloat16)
    return float(tf.reduce_mean(tf.cast(same, tf.float32))) > 0.9


print(json.dumps({"counts": counts(), "rounds": rounds()}))
