"""Small questions that several actions ask."""

from __future__ import annotations

from crosscast.trainstep.frames.frame import Frame


def framework(frame: Frame) -> str:
    """Return the framework that a module imports."""
    for name in frame.module.imported:
        head = name.partition(".")[0]
        if head in ("paddle", "tensorflow", "jax", "flax", "optax"):
            return "jax" if head in ("flax", "optax") else head
    return "tensorflow" if any("tf" in name.split(".") for name in frame.module.imported) else ""
