"""Callbacks that get large arrays, while a compiled function runs.

JAX copies what a callback gets to the CPU's client. Small arrays are copied at once. Those of more
than 100 KB may have to wait for a thread, and with one thread they wait for the function that waits
for the callback. So they are cut into small pieces (measured with JAX 0.10.2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

PIECE = 16_384
"""Values of a piece; 64 KB in float32."""


def tell(note: Callable[..., None], arrays: Mapping[str, Any], *more: Any) -> None:
    """Call a function with float32 copies of these arrays, wherever they have been computed.

    Args:
        note: gets the copies by name, and the rest.
        arrays: of a function that is traced.
        more: small arrays.
    """
    shapes = {name: array.shape for name, array in arrays.items()}

    def put_together(pieces: Mapping[str, list[Any]], *more: Any) -> None:
        flat = {name: np.concatenate([np.asarray(p) for p in pieces[name]]) for name in shapes}
        note({name: flat[name].reshape(shape) for name, shape in shapes.items()}, *more)

    pieces = {name: _cut(array) for name, array in arrays.items()}
    jax.debug.callback(put_together, pieces, *more)


def _cut(array: Any) -> list[Any]:
    flat = array.reshape(-1).astype(np.float32)
    return [flat[start : start + PIECE] for start in range(0, max(1, flat.size), PIECE)]
