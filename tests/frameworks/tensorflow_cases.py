"""Sections of recipes whose emitted TensorFlow step is compared with the reference interpreter."""

from __future__ import annotations

from frameworks.step_cases import (
    ADAM,
    ADAMW,
    ATTEMPTS,
    BY_BATCH,
    COSINE,
    EPS_HAT,
    EVERYWHERE,
    FLUSH,
    FULL_BFLOAT16,
    IN_HALF,
    INSIDE,
    L2,
    MOMENTUM,
    NESTEROV,
    NORM,
    RAW,
    SGD,
    TOKENS,
    VALUE,
    Sections,
    full,
    half,
)

DYNAMIC = {"mode": "dynamic", "init_scale": 2.0**17, "growth_interval": 3}
HYSTERESIS = DYNAMIC | {
    "hysteresis": 2,
    "backoff_factor": 0.25,
    "init_scale": 65536.0,
    "min_scale": 65536.0,
    "max_scale": 98304.0,
}
ODD = DYNAMIC | {"init_scale": 1e4, "growth_factor": 3.0, "backoff_factor": 0.3}
STATIC = {"mode": "static", "scale": 1024.0}
XLA = {"tensorflow": {"jit_compile": True}}


CASES: dict[str, Sections] = {
    **EVERYWHERE,
    "sgd-dynamic-value": half(DYNAMIC, optimizer=SGD, clipping=VALUE),
    "momentum-l2-hysteresis": half(HYSTERESIS, optimizer=MOMENTUM | L2, clipping=NORM),
    "momentum-static-attempts": half(STATIC, optimizer=MOMENTUM, schedule=ATTEMPTS),
    "nesterov": {"optimizer": NESTEROV, "schedule": COSINE},
    "nesterov-dynamic": half(DYNAMIC, optimizer=NESTEROV | L2, clipping=NORM | {"eps": 0.0}),
    "adam-l2-odd-scale": half(ODD, optimizer=ADAM | L2, accumulation=FLUSH | BY_BATCH),
    "adamw": {"optimizer": ADAMW, "clipping": NORM | {"eps": 0.01}},
    "adamw-kernels-only": {"optimizer": ADAMW | {"no_decay": ["embedding", "bias", "layer_norm"]}},
    "adamw-no-decay": {"optimizer": ADAMW | {"weight_decay": 0.0}},
    "adamw-dynamic": half(DYNAMIC, optimizer=ADAMW, clipping=NORM, schedule=ATTEMPTS),
    "adamw-hysteresis": half(HYSTERESIS, optimizer=ADAMW, schedule=COSINE),
    "adamw-static": half(STATIC, optimizer=ADAMW, clipping=VALUE),
    "adamw-xla": half(DYNAMIC, optimizer=ADAMW, clipping=NORM, overrides=XLA),
}
CUMULATIVE = HYSTERESIS | {"hysteresis_mode": "cumulative", "min_scale": 1.0}
EACH_NORM = {"kind": "per_param_norm", "max_norm": 0.7}
LAMB = {"name": "lamb", "learning_rate": 0.05, "weight_decay": 0.1}
LION = {"name": "lion", "learning_rate": 0.01}
ADAFACTOR = {"name": "adafactor", "learning_rate": 0.05}
POLYNOMIAL = {"name": "polynomial", "power": 2.0, "warmup_steps": 3, "total_steps": 25}
ROOT = {"name": "inverse_sqrt", "warmup_steps": 3, "total_steps": 25}
START = {"name": "linear", "warmup_steps": 3, "total_steps": 25, "decay_from": "start"}
EMA = {"decay": 0.9}
GROUPS = {
    "groups": [
        {"parameters": ["*gam?a*", "*bet[a]*"], "rate_factor": 0.25},
        {"parameters": ["*kernel*", "*gamma*"], "weight_decay": 0.3, "rate_factor": 2.0},
        {"parameters": ["*embed*"], "weight_decay": 0.0},
    ]
}
FEW = {"exempt": ["layer_norm", "bias"]}
EMBEDDINGS = {"exempt": ["embedding"]}


CASES |= {
    "sgd-cumulative-tokens": half(CUMULATIVE, optimizer=SGD, accumulation=TOKENS),
    "sgd-each-norm": {"optimizer": SGD | GROUPS, "clipping": EACH_NORM, "ema": EMA},
    "sgd-l2-groups-exempt": {"optimizer": SGD | L2 | GROUPS, "clipping": NORM | FEW},
    "momentum-inside": {"optimizer": INSIDE, "schedule": COSINE, "clipping": VALUE | EMBEDDINGS},
    "momentum-inside-l2": half(STATIC, optimizer=INSIDE | L2, schedule=POLYNOMIAL),
    "nesterov-inside": half(DYNAMIC, optimizer=NESTEROV | INSIDE, schedule=ROOT),
    "nesterov-inside-groups": {
        "optimizer": INSIDE | {"nesterov": True, "weight_decay": 0.1} | GROUPS,
        "schedule": START,
    },
    "adam-before": half(DYNAMIC, optimizer=ADAM | EPS_HAT, schedule=COSINE),
    "adam-before-l2": {"optimizer": ADAM | EPS_HAT | L2, "accumulation": TOKENS},
    "adam-raw": half(CUMULATIVE, optimizer=ADAM | RAW, clipping=EACH_NORM | {"eps": 0.0} | FEW),
    "adamw-before": half(DYNAMIC, optimizer=ADAMW | EPS_HAT, ema=EMA),
    "adamw-before-everywhere": {"optimizer": ADAMW | EPS_HAT | {"no_decay": []}, "clipping": NORM},
    "adamw-raw-before": {"optimizer": ADAMW | RAW | EPS_HAT, "schedule": START},
    "adamw-groups": half(DYNAMIC, optimizer=ADAMW | GROUPS, clipping=NORM | EMBEDDINGS, ema=EMA),
    "adamw-full": full(DYNAMIC, optimizer=ADAMW, clipping=NORM),
    "adamw-full-sums": full(DYNAMIC, optimizer=ADAMW | GROUPS, accumulation=IN_HALF, ema=EMA),
    "adamw-full-bfloat16": {
        "precision": FULL_BFLOAT16,
        "optimizer": ADAMW,
        "accumulation": IN_HALF,
    },
    "sgd-full": full(DYNAMIC, optimizer=SGD, clipping=EACH_NORM),
    "lamb": {"optimizer": LAMB, "clipping": NORM},
    "lamb-dynamic": half(DYNAMIC, optimizer=LAMB | {"always_adapt": False}, schedule=COSINE),
    "lamb-raw-everywhere": {"optimizer": LAMB | RAW | {"no_decay": []}, "schedule": ROOT},
    "lamb-no-decay": {"optimizer": LAMB | {"weight_decay": 0.0, "always_adapt": False}},
    "lamb-groups": half(CUMULATIVE, optimizer=LAMB | GROUPS | {"always_adapt": False}),
    "lion": half(DYNAMIC, optimizer=LION, clipping=NORM),
    "lion-decay": {"optimizer": LION | L2, "schedule": COSINE, "ema": EMA},
    "lion-groups": {"optimizer": LION | GROUPS, "accumulation": TOKENS},
    "adafactor": {"optimizer": ADAFACTOR, "schedule": COSINE},
    "adafactor-dynamic": half(DYNAMIC, optimizer=ADAFACTOR | L2, clipping=NORM),
    "adafactor-odd": {
        "optimizer": ADAFACTOR
        | {"beta2_decay": -0.5, "eps": [0.01, 0.5], "clip_threshold": 1.5}
        | GROUPS,
        "accumulation": BY_BATCH,
    },
    "adafactor-full": full(DYNAMIC, optimizer=ADAFACTOR, ema=EMA),
}
# The same with Keras 2.
OLD = "@2.15"
for _name in (
    *("sgd", "sgd-cumulative-tokens", "momentum-l2-hysteresis", "nesterov-inside"),
    *("adam-raw", "adam-before", "adamw-groups", "adamw-full-sums", "adamw-xla"),
    *("lamb-dynamic", "lion-decay", "adafactor-dynamic", "sgd-l2-groups-exempt"),
):
    CASES[f"{_name}{OLD}"] = CASES[_name]
MORE = {
    *("adam-l2-everywhere", "adam-before-l2", "adamw-everywhere", "adamw-kernels-only"),
    *("adamw-no-decay", "adamw-before-everywhere", "momentum-inside-l2", "nesterov-inside-groups"),
    *("lamb-raw-everywhere", "lamb-no-decay", "lamb-groups", "lion-groups", "adafactor-odd"),
    *("nesterov", "adamw", "adamw-hysteresis", "adamw-static", "adamw-before", "sgd-full", "lion"),
    *("adafactor-full", "adafactor", "sgd", "sgd-dynamic-value", "adamw-full-bfloat16"),
    *("lamb", "nesterov-inside", "sgd-l2-flush", "momentum-cosine", "adamw-full"),
    *("sgd-l2-groups-exempt", "adam", "adamw-raw-before", "adamw-groups"),
}
"""Further combinations of what other cases exercise."""
MORE |= {name for name in CASES if name.endswith(OLD)} - {f"adam-raw{OLD}"}
