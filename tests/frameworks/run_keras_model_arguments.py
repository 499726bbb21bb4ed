"""Call `keras.Model` as either of its constructors; prints JSON: argument to whether it is taken.

`functional`: beside inputs and outputs. `layer`: alone.
"""

from __future__ import annotations

import json
from typing import Any

import keras

GIVEN: dict[str, Any] = {"name": "own", "trainable": False, "dtype": "float32"}
GIVEN |= {"autocast": True, "activity_regularizer": "l2", "input": None, "metrics": None}


def is_taken(**given: Any) -> bool:
    """Whether a model can be made with some arguments."""
    try:
        keras.Model(**given)
    except (TypeError, ValueError):
        return False
    return True


def main() -> None:
    """Print what both take."""
    x = keras.Input((3,))
    both = {"inputs": x, "outputs": keras.layers.Dense(2)(x)}
    functional = {name: is_taken(**both, **{name: value}) for name, value in GIVEN.items()}
    layer = {name: is_taken(**{name: value}) for name, value in GIVEN.items()}
    print(json.dumps({"functional": functional, "layer": layer}))


if __name__ == "__main__":
    main()
