"""Sections of recipes whose emitted Paddle step is compared with the reference interpreter."""

from __future__ import annotations

from typing import Any

from frameworks.step_cases import (
    ADAM,
    ADAMW,
    ATTEMPTS,
    BOUNDS,
    COSINE,
    DYNAMIC,
    EAGER,
    EPS_HAT,
    FALLING,
    FLAT,
    FULL_BFLOAT16,
    HYSTERESIS,
    IN_HALF,
    INSIDE,
    L2,
    MOMENTUM,
    NORM,
    PATIENT,
    RAW,
    SGD,
    TOKENS,
    VALUE,
    Sections,
    full,
    half,
)

NOWHERE = {"weight_decay": 0.1, "no_decay": ["bias", "layer_norm", "embedding"]}
STATIC = {"mode": "static", "scale": 1024.0}


CASES: dict[str, Sections] = {
    **EAGER,
    "sgd-l2-bounds": half(BOUNDS, optimizer=SGD | L2),
    "momentum-l2-everywhere": {"optimizer": MOMENTUM | {"weight_decay": 0.1}, "clipping": VALUE},
    "momentum-static": half(STATIC, optimizer=MOMENTUM | NOWHERE, schedule=ATTEMPTS),
    "adamw-nowhere": {"optimizer": ADAMW | NOWHERE},
    "adamw-static": half(STATIC, optimizer=ADAMW, clipping=VALUE),
    "adamw-unscaled": half({"mode": "none"}, optimizer=ADAMW),
}

# What Paddle lacks, or has in another form.
CUMULATIVE = FALLING | {"hysteresis": 3, "hysteresis_mode": "cumulative", "growth_interval": 4}
EACH_NORM = {"kind": "per_param_norm", "max_norm": 0.5}
BUT_BIAS = {"exempt": ["bias"]}
LAMB = {"name": "lamb", "learning_rate": 0.05, "eps": 1e-3, "weight_decay": 0.1}
LION = {"name": "lion", "learning_rate": 0.05, "weight_decay": 0.1}
ADAFACTOR = {"name": "adafactor", "learning_rate": 0.3}
POLYNOMIAL = {"name": "polynomial", "power": 1.7, "warmup_steps": 3, "total_steps": 25}
FROM_START = POLYNOMIAL | {"decay_from": "start", "end_lr": 0.002}
INVERSE = {"name": "inverse_sqrt", "warmup_steps": 5, "total_steps": 30}
EMA: dict[str, Any] = {"ema": {"decay": 0.7}}
GROUPS = {
    "groups": [
        {"parameters": ["beta", "norm.bias"], "weight_decay": 0.3},
        {"parameters": ["kernel", "dense.*"], "rate_factor": 0.25},
        {"parameters": ["k*", "emb*", "table.[vw]*"], "weight_decay": 0.0, "rate_factor": 2.0},
    ]
}


CASES |= {
    "tokens": {"optimizer": ADAMW, "accumulation": TOKENS},
    "tokens-half": half(DYNAMIC, optimizer=MOMENTUM, accumulation=TOKENS, clipping=NORM),
    "cumulative": half(CUMULATIVE, optimizer=ADAMW),
    "full-adamw": full(DYNAMIC, optimizer=ADAMW, clipping=NORM),
    "full-falling": full(FALLING, optimizer=MOMENTUM | L2, clipping=VALUE),
    "full-in-half": full(DYNAMIC, optimizer=ADAM, accumulation=IN_HALF),
    "full-in-half-static": full(STATIC, optimizer=LION, accumulation=IN_HALF, **EMA),
    "full-bfloat16": {"precision": FULL_BFLOAT16, "optimizer": ADAMW, "accumulation": IN_HALF},
    "full-bfloat16-float32": {
        "precision": FULL_BFLOAT16,
        "optimizer": ADAFACTOR,
        "clipping": EACH_NORM,
    },
    "each-norm": half(DYNAMIC, optimizer=SGD, clipping=EACH_NORM),
    "each-norm-but-bias": {"optimizer": ADAM, "clipping": EACH_NORM | BUT_BIAS | {"eps": 0.0}},
    "norm-but-bias": half(HYSTERESIS, optimizer=ADAMW, clipping=NORM | BUT_BIAS),
    "norm-but-layers": {
        "optimizer": SGD,
        "clipping": NORM | {"eps": 1e-3, "exempt": ["layer_norm", "embedding"]},
    },
    "value-but-embedding": {"optimizer": SGD, "clipping": VALUE | {"exempt": ["embedding"]}},
    "rate-inside": {"optimizer": INSIDE, "schedule": COSINE},
    "rate-inside-l2": half(PATIENT, optimizer=INSIDE | L2 | {"nesterov": True}),
    "rate-inside-groups": {"optimizer": INSIDE | GROUPS | {"weight_decay": 0.1}},
    "adam-uncorrected": half(FALLING, optimizer=ADAM | RAW | L2),
    "adamw-uncorrected": {"optimizer": ADAMW | RAW, "schedule": FROM_START},
    "adam-eps-hat": {"optimizer": ADAM | EPS_HAT | {"weight_decay": 0.1}, "schedule": FLAT},
    "adamw-eps-hat": half(FALLING, optimizer=ADAMW | EPS_HAT),
    "adamw-eps-hat-everywhere": {"optimizer": ADAMW | EPS_HAT | {"no_decay": []}},
    "lamb": half(DYNAMIC, optimizer=LAMB, clipping=NORM),
    "lamb-decayed": {"optimizer": LAMB | {"always_adapt": False}, "schedule": FLAT},
    "lamb-no-decay": {"optimizer": LAMB | {"weight_decay": 0.0, "always_adapt": False}},
    "lamb-groups": {"optimizer": LAMB | GROUPS},
    "lamb-uncorrected": half(FALLING, optimizer=LAMB | RAW),
    "lamb-uncorrected-decayed": {"optimizer": LAMB | RAW | {"always_adapt": False}},
    "lion": half(FALLING, optimizer=LION, schedule=COSINE),
    "lion-no-decay": {"optimizer": LION | {"weight_decay": 0.0}},
    "lion-some": {"optimizer": LION | {"no_decay": ["bias"]}},
    "adafactor": half(FALLING, optimizer=ADAFACTOR),
    "adafactor-decay": {
        "optimizer": ADAFACTOR | L2 | {"clip_threshold": 1.5, "beta2_decay": -0.6},
        "schedule": POLYNOMIAL,
    },
    "adafactor-groups": {"optimizer": ADAFACTOR | GROUPS, "schedule": FLAT},
    "sgd-groups": half(DYNAMIC, optimizer=SGD | GROUPS | L2, schedule=INVERSE),
    "momentum-groups": {"optimizer": MOMENTUM | GROUPS},
    "adam-groups": {"optimizer": ADAM | GROUPS | {"weight_decay": 0.05}},
    "adamw-groups": half(FALLING, optimizer=ADAMW | GROUPS),
    "adamw-groups-everywhere": {"optimizer": ADAMW | GROUPS | {"no_decay": []}},
    "ema": {"optimizer": ADAMW, **EMA},
    "ema-falling": half(FALLING, optimizer=MOMENTUM, schedule=ATTEMPTS, **EMA),
}
MORE = {
    *("sgd", "sgd-l2-everywhere", "sgd-dynamic-value", "momentum-l2-everywhere", "nesterov"),
    *("adam-l2-everywhere", "adamw", "adamw-everywhere", "adamw-no-decay", "adamw-attempts"),
    *("adamw-falling", "adamw-static", "tokens-half", "full-falling", "full-in-half-static"),
    *("full-bfloat16-float32", "each-norm", "norm-but-layers", "rate-inside", "adam-eps-hat"),
    *("rate-inside-groups", "adam-uncorrected", "adamw-eps-hat-everywhere", "lamb-no-decay"),
    *("lamb-groups", "lamb-uncorrected", "lamb-uncorrected-decayed", "lion-no-decay", "lion-some"),
    *("adafactor-decay", "momentum-groups", "adam-groups", "adamw-groups-everywhere", "ema"),
    *("sgd-l2-flush", "momentum-cosine", "nesterov-falling", "adam", "full-adamw"),
    "norm-but-bias",
}
"""Further combinations of what other cases exercise."""
