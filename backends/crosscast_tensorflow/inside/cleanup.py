"""What a run of a script leaves in the process of TensorFlow."""

from __future__ import annotations

import sys


def clean_up() -> None:
    """Give back the dtype policy and the graphs of Keras, where it was used."""
    keras = sys.modules.get("keras")
    if keras is not None:
        keras.utils.clear_session()
