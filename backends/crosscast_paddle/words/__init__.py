"""Names of Paddle and of what is built on it."""

from __future__ import annotations

from crosscast_paddle.words import fluid_signatures, signatures
from crosscast_reading.pysource.libraries.words import FrameworkPackages, Words

WORDS = Words(
    packages=(
        FrameworkPackages(
            "paddle",
            own=("paddle",),
            around=("paddleformers", "paddlenlp", "paddleseg", "ppdet", "ppfleetx"),
            steps=("optimizer", "amp", "fleet", "nn."),
        ),
    ),
    signatures={**signatures.SIGNATURES, **fluid_signatures.SIGNATURES},
    public_names={
        "paddle.fluid.contrib.mixed_precision.decorator": "paddle.fluid.contrib.mixed_precision",
        "paddle.fluid.dygraph.amp": "paddle.fluid.dygraph",
        "paddle.amp.grad_scaler": "paddle.amp",
        "paddle.amp.auto_cast.auto_cast": "paddle.amp.auto_cast",
        "paddle.amp.auto_cast.decorate": "paddle.amp.decorate",
    },
    handed_through={
        "paddle.amp.decorate": (0, 1),
        "paddle.distributed.fleet.distributed_model": 0,
    },
    distributions={"paddle": "paddlepaddle"},
)
"""See `pysource.libraries.words`."""
