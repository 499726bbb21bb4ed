"""Half precision in JAX on a CPU: XLA computes it by itself.

Its operations on half arrays sum in float32 and round their result once, which is what
`crosscast_parity.inside.emulate` does elsewhere, and there is no autocast to switch off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def install() -> Callable[[Any], None]:
    """Return a function that leaves the script as it is."""
    return lambda module: None
