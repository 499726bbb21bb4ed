"""API generations of TensorFlow and Keras that can be emitted."""

from __future__ import annotations

from crosscast.target import Dialect

DIALECTS = (Dialect(name="keras-3", since="2.16"),)
