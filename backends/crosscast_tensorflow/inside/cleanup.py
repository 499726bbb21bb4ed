"""What a run of a script leaves in the process of TensorFlow."""

from __future__ import annotations

import sys
from inspect import signature


def clean_up() -> None:
    """Give back the dtype policy and the graphs of Keras, where it was used."""
    keras = sys.modules.get("keras")
    if keras is not None:
        # Keras 3 would collect garbage, which the session does anyway.
        clear = keras.utils.clear_session
        clear(**{"free_memory": False} if "free_memory" in signature(clear).parameters else {})
