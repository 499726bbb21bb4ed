"""API generations of Paddle that can be emitted."""

from __future__ import annotations

from crosscast.targets.backend import Dialect

_GPU = "# On a GPU install paddlepaddle-gpu of the same version instead, as Paddle's guide says."

DYGRAPH = Dialect(
    name="dygraph",
    title="Paddle 3.0 or newer",
    since="3.0",
    newest="3.3",
    requirements=(
        _GPU,
        "paddlepaddle>=3.0,<4",
        "# Paddle's GradScaler raises TypeError at a back-off of its own with NumPy 2.4 or newer.",
        "numpy>=1.26,<2.4",
        "safetensors>=0.6",
    ),
)
DYGRAPH2 = Dialect(
    name="dygraph2",
    title="Paddle 2.6",
    since="2.6",
    until="3.0",
    requirements=(
        _GPU,
        "paddlepaddle>=2.6,<3",
        "numpy>=1.22,<2  # what Paddle 2.6 was built for",
        "safetensors>=0.6",
    ),
)
DIALECTS = (DYGRAPH, DYGRAPH2)
