"""Names of Paddle and of what is built on it."""

from __future__ import annotations

from crosscast_paddle.words import fluid_signatures, signatures
from crosscast_paddle.words.mixed_precision import MIXED_PRECISION
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
    roles={
        "optimizer": r"paddle\.(fluid\.)?optimizer\.(?!lr\b)(\w+\.)*[A-Z]\w+",
        "schedule": r"paddle\.optimizer\.lr\.[A-Z]\w+|paddle\.fluid\.layers\.(\w+\.)?\w+_decay",
        "scaler": r"paddle\.amp\.GradScaler",
        "clip": r"paddle\.(\w+\.)*(ClipGrad\w+|GradientClip\w+)",
        "sums_over_processes": r"paddle\.distributed\.all_reduce",
        "saves": r"paddle\.save",
        "data_loader": r"paddle\.io\.DataLoader",
        "fits": r"paddle\.Model\.fit",
        "joins_processes": r"paddle\.distributed\.(init_parallel_env|spawn|launch|fleet\.init)"
        r"|paddle\.fluid\.(incubate\.)?[\w.]*(DistributeTranspiler|ParallelExecutor|prepare_context)"
        r"|(paddle\.fluid\.[\w.]*)?with_data_parallel",
    },
    hidden_models={
        "paddle.DataParallel": "_layers",
        "paddle.fluid.dygraph.parallel.DataParallel": "_layers",
        "paddle.fluid.dygraph.DataParallel": "_layers",
    },
    foreign_arguments=(
        (
            r"paddle\.optimizer\.[A-Z]\w+",
            {
                "lr": "use `learning_rate`",
                "params": "use `parameters`",
                "betas": "Adam has `beta1` and `beta2`",
                "beta_1": "Adam has `beta1`",
                "beta_2": "Adam has `beta2`",
                "eps": "Adam has `epsilon`",
            },
        ),
        (r"paddle\.optimizer\.SGD", {"momentum": "use the class Momentum"}),
        (r"paddle\.optimizer\.(Adam|AdamW)", {"momentum": "use `beta1`"}),
    ),
    mixed_precision=MIXED_PRECISION,
)
"""See `pysource.libraries.words`."""
