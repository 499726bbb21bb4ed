"""One run in which most things happen: what several tests look at."""

from __future__ import annotations

from typing import Any

from crosscast_parity.toy.faults import Fault, Faults
from frameworks.emitted_script import FLOAT16, tiny_recipe
from fuzz.cases import Case

SECTIONS: dict[str, Any] = {
    "precision": FLOAT16,
    "batch": {"micro_batch_size": 2, "global_batch_size": 4},
    "loss_scaling": {"mode": "dynamic", "init_scale": 64.0, "hysteresis": 2, "growth_interval": 2},
    "clipping": {"kind": "global_norm", "max_norm": 5.0, "eps": 1e-3},
    "optimizer": {"name": "adamw", "learning_rate": 0.01, "eps": 1e-3, "weight_decay": 0.1},
    "schedule": {"name": "linear", "warmup_steps": 2, "total_steps": 20},
    "ema": {"decay": 0.9},
}
FAULTS = Faults(
    seed=1,
    windows=((2, 2), (2, 2), (2, 2), (2,), (2, 2), (2, 2), (2, 2), (2, 2), (2, 2)),
    surges={7: 20},
    faults=(
        Fault(1, 1, "bias", float("-inf")),
        Fault(4, 0, "gamma", float("inf")),
        Fault(5, 1, "embeddings", float("nan")),
    ),
)
"""Windows 2 and 3 let the scale grow, 4 and 5 let it fall."""

EXAMPLE = Case(tiny_recipe(**SECTIONS), FAULTS)
