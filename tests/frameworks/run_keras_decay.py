"""Trains with and without the argument decay, in any Keras; prints the weights as JSON.

Argument: a program that defines `optimizer`. Runs in TensorFlow 2.5 as well.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

names: dict[str, Any] = {}
exec(compile(Path(sys.argv[1]).read_text(), sys.argv[1], "exec"), names)
rng = np.random.RandomState(0)
variable = tf.Variable([1.0, -2.0, 3.0])
for _ in range(20):
    gradient = tf.constant(rng.randn(3).astype("float32"))
    names["optimizer"].apply_gradients([(gradient, variable)])
print(json.dumps(variable.numpy().tolist()))
