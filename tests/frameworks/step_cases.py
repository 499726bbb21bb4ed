"""What the recipes of `test_steps` have in common: parts of sections, and whole ones."""

from __future__ import annotations

from typing import Any

from frameworks.emitted_script import BFLOAT16, FLOAT16

Sections = dict[str, Any]

SGD = {"name": "sgd", "learning_rate": 0.05}
MOMENTUM = SGD | {"momentum": 0.9}
NESTEROV = MOMENTUM | {"nesterov": True}
INSIDE = MOMENTUM | {"rate_in_momentum": True}
L2 = {"weight_decay": 0.1, "no_decay": ["bias", "layer_norm"]}
ADAM = {"name": "adam", "learning_rate": 0.05, "eps": 1e-3}
ADAMW = {"name": "adamw", "learning_rate": 0.05, "weight_decay": 0.1}
EPS_HAT = {"eps_placement": "before_correction"}
RAW = {"bias_correction": False}
NORM = {"kind": "global_norm", "max_norm": 1.0}
VALUE = {"kind": "value", "max_value": 0.2}
DYNAMIC = {"mode": "dynamic", "init_scale": 2.0**14, "growth_interval": 3}
BOUNDS = DYNAMIC | {"min_scale": 6000.0, "max_scale": 2.0**15}
ODD = DYNAMIC | {"growth_factor": 1.5, "backoff_factor": 0.7}
FALLING = DYNAMIC | {"init_scale": 2.0**20}  # the first windows overflow by themselves
HYSTERESIS = DYNAMIC | {"hysteresis": 2, "min_scale": 1e4, "max_scale": 3e4}
PATIENT = FALLING | {"hysteresis": 3, "growth_factor": 1.5, "backoff_factor": 0.7}
COSINE = {"name": "cosine", "warmup_steps": 4, "total_steps": 25, "end_lr": 0.01}
ATTEMPTS = {"name": "linear", "warmup_steps": 2, "total_steps": 25, "tick": "attempt"}
FLAT = {"name": "constant", "total_steps": 30}
WARM = {"name": "linear", "warmup_steps": 4, "warmup_start_lr": 0.02, "total_steps": 25}
BY_BATCH = {"normalize_by": "microbatch"}
TOKENS = {"normalize_by": "token"}
FLUSH = {"tail": "flush"}
IN_HALF = {"dtype": "compute"}
FULL = FLOAT16 | {"mode": "full"}
FULL_BFLOAT16 = BFLOAT16 | {"mode": "full"}


def half(scaling: Sections, **sections: Any) -> Sections:
    """Return sections of a recipe in float16."""
    return {"precision": FLOAT16, "loss_scaling": scaling, **sections}


def full(scaling: Sections, **sections: Any) -> Sections:
    """Return sections of a recipe with weights in float16."""
    return {"precision": FULL, "loss_scaling": scaling, **sections}


EVERYWHERE: dict[str, Sections] = {
    "sgd": {"optimizer": SGD},
    "sgd-l2-flush": {"optimizer": SGD | L2, "accumulation": FLUSH, "clipping": NORM},
    "momentum-cosine": {"optimizer": MOMENTUM, "schedule": COSINE, "accumulation": BY_BATCH},
    "adam": {"optimizer": ADAM, "schedule": FLAT, "clipping": VALUE},
    "adam-l2-everywhere": {"optimizer": ADAM | {"weight_decay": 0.1}, "clipping": NORM},
    "adam-warm": {"optimizer": ADAM, "schedule": WARM},
    "adamw-everywhere": {"optimizer": ADAMW | {"no_decay": []}, "schedule": COSINE},
    "adamw-bfloat16": {"precision": BFLOAT16, "optimizer": ADAMW, "clipping": NORM},
}
"""Recipes by name, the same for every framework."""
EAGER: dict[str, Sections] = EVERYWHERE | {
    "sgd-l2-everywhere": {"optimizer": SGD | {"weight_decay": 0.1}, "schedule": FLAT},
    "sgd-dynamic-value": half(DYNAMIC, optimizer=SGD, clipping=VALUE),
    "momentum-falling": half(FALLING, optimizer=MOMENTUM, schedule=FLAT),
    "momentum-hysteresis": half(HYSTERESIS, optimizer=MOMENTUM | L2, clipping=NORM),
    "nesterov": {"optimizer": NESTEROV | L2, "schedule": COSINE},
    "nesterov-falling": half(FALLING, optimizer=NESTEROV | L2, clipping=NORM | {"eps": 0.0}),
    "adam-l2-odd": half(ODD, optimizer=ADAM | L2, accumulation=FLUSH | BY_BATCH),
    "adam-patient": half(PATIENT, optimizer=ADAM, clipping=VALUE, schedule=COSINE),
    "adamw": {"optimizer": ADAMW, "clipping": NORM | {"eps": 1e-3}},
    "adamw-no-decay": {"optimizer": ADAMW | {"weight_decay": 0.0}, "schedule": FLAT},
    "adamw-attempts": half(DYNAMIC, optimizer=ADAMW, clipping=NORM, schedule=ATTEMPTS),
    "adamw-falling": half(FALLING, optimizer=ADAMW, schedule=COSINE),
    "adamw-hysteresis": half(HYSTERESIS, optimizer=ADAMW, clipping=NORM | {"eps": 1e-3}),
}
"""Those and more, the same for PyTorch and Paddle."""
