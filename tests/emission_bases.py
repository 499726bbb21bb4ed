"""Targets that emit a script, and recipes in which every operation, row and adaptation acts."""

from __future__ import annotations

from typing import Any

from frameworks.emitted_script import FLOAT16, TINY
from own_parts import own_backends

TARGETS = tuple(
    backend.name if dialect is backend.dialects[0] else f"{backend.name}@{dialect.name}"
    for backend in own_backends()
    for dialect in backend.dialects
    if dialect.emits == "script"
)

OWN_MODEL = {
    "kind": "custom",
    "factory": dict.fromkeys(("torch", "tensorflow", "paddle", "jax"), "model:build_model"),
}
_GROUP = {"parameters": ["dense.*"], "weight_decay": 0.05, "rate_factor": 0.5}
_ADAM = {"learning_rate": 1e-3, "weight_decay": 0.01, "no_decay": ["bias"]}
_CLOSE = [0.9, 0.99999]
_SGD = {"name": "sgd", "learning_rate": 1e-3, "momentum": 0.9}
_DYNAMIC = {"mode": "dynamic", "hysteresis": 2, "max_scale": 65536.0}
_NORM = {"kind": "global_norm", "max_norm": 1.0, "eps": 1e-3, "exempt": ["bias"]}
_STORED = {"matmul": "float32_stored_half", "pointwise": "float32_stored_half"}
BASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "float16": {"precision": FLOAT16, "loss_scaling": _DYNAMIC},
    "static": {"precision": FLOAT16, "loss_scaling": {"mode": "static", "scale": 128.0}},
    "half weights": {
        "precision": {"mode": "full", "compute_dtype": "bfloat16"},
        "accumulation": {"dtype": "compute"},
    },
    "half sums": {
        "precision": {"mode": "full", "compute_dtype": "float16"},
        "accumulation": {"dtype": "compute"},
    },
    "processes": {"distributed": {"strategy": "data_parallel", "processes_per_node": 2}},
    "averages": {"ema": {"decay": 0.9}},
    "flush": {"accumulation": {"tail": "flush"}},
    "norm": {"clipping": _NORM},
    "each norm": {"clipping": _NORM | {"kind": "per_param_norm"}},
    "plain norm": {"clipping": {"kind": "global_norm", "max_norm": 1.0, "eps": 1e-3}},
    "value": {"clipping": {"kind": "value", "max_value": 0.5}},
    "sgd": {"optimizer": _SGD},
    "rate in momentum": {"optimizer": _SGD | {"rate_in_momentum": True}},
    "groups": {"optimizer": {"name": "adamw", "groups": [_GROUP], **_ADAM}},
    "adam": {"optimizer": {"name": "adam", **_ADAM, "no_decay": []}},
    "coupled roles": {"optimizer": {"name": "adam", **_ADAM}},
    "adamw": {"optimizer": {"name": "adamw", **_ADAM}},
    "uncorrected": {"optimizer": {"name": "adamw", "bias_correction": False, **_ADAM}},
    "raw epsilon": {"optimizer": {"name": "adam", "eps_placement": "before_correction", **_ADAM}},
    "lamb": {"optimizer": {"name": "lamb", **_ADAM}},
    "lion": {"optimizer": {"name": "lion", **_ADAM}},
    "adafactor": {"optimizer": {"name": "adafactor", **_ADAM}},
    "polynomial": {"schedule": {"name": "polynomial", "warmup_steps": 3, "total_steps": 20}},
}
"""Recipes in which every field of an operation acts somewhere."""
ADAPTED = BASES | {
    "stock scaler": {"precision": FLOAT16, "loss_scaling": {"mode": "dynamic"}},
    "scaled momentum": {"precision": FLOAT16, "optimizer": _SGD},
    "float32 sums": {"precision": {"mode": "full", "compute_dtype": "float16"}},
    "own types": {"precision": FLOAT16 | {"ops": {"pointwise": "compute"}}},
    "policy of autocast": {"version": 2, "precision": FLOAT16 | {"policy": "autocast"}},
    "policy of keras": {"version": 2, "precision": FLOAT16 | {"policy": "keras"}},
    "sgd that decays": {"optimizer": _SGD | {"weight_decay": 0.01}},
    "decay of a group": {"optimizer": {"name": "adam", "learning_rate": 1e-3, "groups": [_GROUP]}},
    "uncorrected lamb": {"optimizer": {"name": "lamb", "bias_correction": False, **_ADAM}},
    "betas close to 1": {"optimizer": {"name": "adamw", "betas": _CLOSE, **_ADAM}},
    "betas of lamb close to 1": {"optimizer": {"name": "lamb", "betas": _CLOSE, **_ADAM}},
    "betas of lion close to 1": {"optimizer": {"name": "lion", "betas": _CLOSE, **_ADAM}},
    "stock class": {"optimizer": {"name": "sgd", "learning_rate": 1e-3}},
    "trackers": {"tracking": dict.fromkeys(("tensorboard", "mlflow", "wandb", "trackio"), True)},
    "machines": {"distributed": {"strategy": "data_parallel", "nodes": 2, "processes_per_node": 2}},
    "stored half": {"version": 2, "precision": {"mode": "mixed", "compute_dtype": "bfloat16"}},
    "stored half, scaled": {
        "version": 2,
        "precision": FLOAT16,
        "model": TINY["model"] | {"dropout": 0.1, "attention": "explicit"},
    },
    "stored half, looked up": {
        "version": 2,
        "precision": FLOAT16 | {"ops": {"embeddings": "half"}},
        "loss_scaling": {"mode": "static", "scale": 128.0},
    },
    "stored half, other types": {
        "version": 2,
        "precision": FLOAT16 | {"ops": _STORED},
        "model": TINY["model"] | {"dropout": 0.1},
    },
    "stored half, half weights": {
        "version": 2,
        "precision": {"mode": "full", "compute_dtype": "float16"},
    },
    "float32, fused": {"version": 2, "model": TINY["model"] | {"dropout": 0.1}},
    "recomputed dropout": {
        "model": TINY["model"] | {"dropout": 0.1},
        "activation_checkpointing": True,
    },
    "own model": {"model": OWN_MODEL, "clipping": _NORM | {"exempt": ["layer_norm"]}},
    "own model in half": {
        "model": OWN_MODEL,
        "precision": {"mode": "full", "compute_dtype": "float16"},
    },
    "own model of processes": {
        "model": OWN_MODEL,
        "distributed": {"strategy": "data_parallel", "processes_per_node": 2},
    },
}
"""The same, and recipes in which the other rows that adapt act."""
