"""Emitted training steps with an adaptation taken out: in which recipe, and the edits of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from changed_programs import Change, changes_in
from frameworks.emitted_script import FLOAT16
from gotchas.mutation import ALL, Mutation

ADAMW = {"name": "adamw", "learning_rate": 0.05, "weight_decay": 0.1, "eps": 1e-3}
ADAM = {"name": "adam", "learning_rate": 0.05, "weight_decay": 0.1, "eps": 1e-3, "no_decay": []}
LAMB = {"name": "lamb", "learning_rate": 0.01, "weight_decay": 0.1, "no_decay": ["bias"]}
MOMENTUM = {"name": "sgd", "learning_rate": 0.05, "momentum": 0.9}
NORM = {"kind": "global_norm", "max_norm": 1.0}
VALUE = {"kind": "value", "max_value": 0.2}
DYNAMIC = {"mode": "dynamic", "init_scale": 2.0**14, "growth_interval": 3}
BOUNDS = DYNAMIC | {"min_scale": 6000.0, "max_scale": 2.0**15}
STATIC = {"mode": "static", "scale": 1024.0}
# Shorter than the toy's 30 windows.
COSINE = {"name": "cosine", "warmup_steps": 4, "total_steps": 20, "end_lr": 0.01}
LINEAR = {"name": "linear", "warmup_steps": 2, "total_steps": 25}

RECIPES: dict[str, dict[str, Any]] = {
    "scaled": {
        "precision": FLOAT16,
        "loss_scaling": DYNAMIC,
        "optimizer": ADAMW,
        "clipping": NORM,
        "schedule": COSINE,
    },
    "value": {
        "precision": FLOAT16,
        "loss_scaling": DYNAMIC,
        "optimizer": ADAMW,
        "clipping": VALUE,
        "schedule": LINEAR,
    },
    "bounds": {"precision": FLOAT16, "loss_scaling": BOUNDS, "optimizer": ADAMW},
    "static": {"precision": FLOAT16, "loss_scaling": STATIC, "optimizer": MOMENTUM},
    "coupled": {"optimizer": ADAM, "schedule": LINEAR},
    "momentum": {"optimizer": MOMENTUM, "schedule": LINEAR},
    "classic": {"optimizer": ADAM, "schedule": LINEAR | {"decay_from": "start"}},
    "tokens": {"optimizer": MOMENTUM, "accumulation": {"normalize_by": "token"}},
    "lamb": {"optimizer": LAMB, "schedule": LINEAR},
}
RECIPES_OF_JAX: dict[str, dict[str, Any]] = {
    "norm": {"optimizer": ADAMW, "clipping": NORM | {"eps": 0.5}, "schedule": LINEAR},
    "uncorrected": {"optimizer": ADAM | {"bias_correction": False}},
    "raw": {"optimizer": ADAM | {"eps": 1e-2, "eps_placement": "before_correction"}},
    # Of 1 - 0.9999999 float32 has no digit that is right.
    "slow": {"optimizer": ADAM | {"betas": [0.9, 0.9999999], "weight_decay": 0.0}},
    "adafactor": {"optimizer": {"name": "adafactor", "learning_rate": 0.05}},
    "inside": {"optimizer": MOMENTUM | {"rate_in_momentum": True}, "schedule": LINEAR},
    # The first windows overflow by themselves, one after the other.
    "falling": {
        "precision": FLOAT16,
        "loss_scaling": DYNAMIC | {"init_scale": 2.0**24},
        "optimizer": MOMENTUM,
    },
}
"""Those that only JAX's mutations need."""


def _mutations(change: Change) -> list[Mutation]:
    number, recipe, named, adaptation = map(change.field, range(4))
    targets = ALL if named == "all" else named.split()
    edits = tuple((old, new) for _, old, new in change.edits)
    return [
        Mutation(int(number), change.name, recipe, edits, target, adaptation) for target in targets
    ]


MUTATIONS = tuple(
    mutation
    for change in changes_in(Path(__file__).with_suffix(".diff"))[""]
    for mutation in _mutations(change)
)
