"""What a run of a script leaves in the process of TensorFlow."""

from __future__ import annotations

import sys
from inspect import signature
from types import CodeType

_converted: set[CodeType] = set()
"""Code of the functions that AutoGraph has converted.

It remembers them for as long as the code is there, and takes equal code for the same: the next
script with such a function need not be converted again.
"""


def clean_up() -> None:
    """Give back the dtype policy and the graphs of Keras, where it was used."""
    autograph = sys.modules.get("tensorflow.python.autograph.impl.api")
    known = getattr(getattr(autograph, "_TRANSPILER", None), "_cache", None)
    _converted.update(key for key in getattr(known, "_cache", ()) if isinstance(key, CodeType))
    keras = sys.modules.get("keras")
    if keras is not None:
        # Keras 3 would collect garbage, which the session does anyway.
        clear = keras.utils.clear_session
        clear(**{"free_memory": False} if "free_memory" in signature(clear).parameters else {})
