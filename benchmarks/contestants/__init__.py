"""Training loops that `benchmarks/step_time.py` runs side by side, and the table of them.

A contestant is a module with a function `train(task, lane)`: an ordinary training loop that calls
`lane.next_window()` before every window, and first of all `lane.describe(...)`. It imports its
framework when it is imported; the table here imports nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

FRAMEWORKS = ("torch", "tensorflow", "paddle", "jax")
BASE = "hand"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the tables: a module of this package, run in one framework's process."""

    framework: str
    name: str
    module: str
    title: str
    package: str = ""
    """Distribution that is needed beside the framework."""


CONTESTANTS = (
    Entry("torch", "hand", "torch_hand", "hand-written loop, fused AdamW"),
    Entry("torch", "control", "torch_hand", "the same loop again (noise)"),
    Entry("torch", "script", "script", "crosscast train.py"),
    Entry("torch", "step", "step", "crosscast step.py in a plain loop"),
    Entry("torch", "compiled", "script_compiled", "crosscast train.py, compile: true"),
    Entry("torch", "hand_compiled", "torch_hand_compiled", "hand-written loop, model.compile()"),
    Entry("torch", "accelerate", "accelerate_loop", "Accelerate", "accelerate"),
    Entry("torch", "fabric", "fabric_loop", "Lightning Fabric", "lightning"),
    Entry("tensorflow", "hand", "tensorflow_hand", "hand-written, one tf.function a window"),
    Entry("tensorflow", "control", "tensorflow_hand", "the same loop again (noise)"),
    Entry("tensorflow", "script", "script", "crosscast train.py"),
    Entry("tensorflow", "step", "step", "crosscast step.py in a plain loop"),
    Entry("tensorflow", "compiled", "script_compiled", "crosscast train.py, jit_compile: true"),
    Entry(
        "tensorflow", "hand_compiled", "tensorflow_hand_compiled", "hand-written, jit_compile=True"
    ),
    Entry("tensorflow", "fit", "keras_fit", "Keras model.fit"),
    Entry("paddle", "hand", "paddle_hand", "hand-written dygraph loop"),
    Entry("paddle", "control", "paddle_hand", "the same loop again (noise)"),
    Entry("paddle", "script", "script", "crosscast train.py"),
    Entry("paddle", "step", "step", "crosscast step.py in a plain loop"),
    Entry("paddle", "fit", "hapi_fit", "Paddle hapi Model.fit"),
    Entry("jax", "hand", "jax_hand", "hand-written, one jitted call a window"),
    Entry("jax", "control", "jax_hand", "the same loop again (noise)"),
    Entry("jax", "script", "script", "crosscast train.py"),
    Entry("jax", "step", "step", "crosscast step.py in a plain loop"),
)


def entries(framework: str) -> tuple[Entry, ...]:
    """Return the contestants of a framework, the hand-written loop first."""
    return tuple(entry for entry in CONTESTANTS if entry.framework == framework)
