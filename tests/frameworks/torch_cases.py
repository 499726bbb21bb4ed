"""Sections of recipes whose emitted PyTorch step is compared with the reference interpreter."""

from __future__ import annotations

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

INEXACT = DYNAMIC | {"init_scale": 9000.1, "min_scale": 5000.3, "max_scale": 20000.7}
STATIC = {"mode": "static", "scale": 1000.1}
PLAIN = {"torch": {"fused_optimizer": False}}


CASES: dict[str, Sections] = {
    **EAGER,
    "sgd-bounds": half(BOUNDS, optimizer=SGD),
    "sgd-floor": half(DYNAMIC | {"min_scale": 12e3}, optimizer=SGD),
    "sgd-no-floor": half(DYNAMIC | {"init_scale": 2.0, "min_scale": None}, optimizer=SGD),
    "momentum-static": half(STATIC, optimizer=MOMENTUM, schedule=ATTEMPTS),
    "sgd-clipped-at-times": {"optimizer": SGD, "clipping": NORM | {"max_norm": 1.6, "eps": 0.0}},
    "adamw-kernels-only": {"optimizer": ADAMW | {"no_decay": ["embedding", "bias", "layer_norm"]}},
    "adamw-inexact": half(INEXACT, optimizer=ADAMW),
    "adamw-inexact-patient": half(INEXACT | {"hysteresis": 2}, optimizer=ADAMW),
    "adamw-static": half(STATIC, optimizer=ADAMW, clipping=VALUE),
    "stock": half(
        DYNAMIC, optimizer=ADAMW | {"no_decay": []}, clipping=NORM, schedule=FLAT, overrides=PLAIN
    ),
}
for _name in ("sgd-bounds", "nesterov-falling", "adam-l2-odd", "adamw", "adamw-hysteresis"):
    CASES[f"{_name}-plain"] = CASES[_name] | {"overrides": PLAIN}
GROUPS = {
    "groups": [
        {"parameters": ["ker*", "dense.*"], "rate_factor": 0.5},
        {"parameters": ["bias", "shift.*"], "weight_decay": 0.3},
    ]
}
NEVER_MATCHED = {"groups": [{"parameters": ["[!a-z]*"], "weight_decay": 0.5, "rate_factor": 2.0}]}
LAMB = {"name": "lamb", "learning_rate": 0.05, "weight_decay": 0.1}
LION = {"name": "lion", "learning_rate": 0.01, "weight_decay": 0.1, "no_decay": ["bias"]}
ADAFACTOR = {"name": "adafactor", "learning_rate": 0.05, "weight_decay": 0.1}
CUMULATIVE = HYSTERESIS | {"hysteresis_mode": "cumulative"}
EMA = {"ema": {"decay": 0.9}}
EACH_NORM = {"kind": "per_param_norm", "max_norm": 0.5}
EXEMPT = {"exempt": ["bias", "layer_norm"]}
POLYNOMIAL = COSINE | {"name": "polynomial", "power": 2.5, "decay_from": "start"}
INVERSE = {"name": "inverse_sqrt", "warmup_steps": 4, "total_steps": 25}
CASES |= {
    "cumulative": half(CUMULATIVE, optimizer=ADAMW),
    "cumulative-3": half(FALLING | {"hysteresis": 3, "hysteresis_mode": "cumulative"}, **EMA),
    "tokens": {"accumulation": TOKENS, "optimizer": SGD},
    "tokens-carried": half(DYNAMIC, accumulation=TOKENS | {"tail": "carry"}, optimizer=ADAMW),
    "each-norm": {"clipping": EACH_NORM, "optimizer": MOMENTUM},
    "each-norm-own": half(DYNAMIC, clipping=EACH_NORM | {"eps": 0.0} | EXEMPT, optimizer=SGD),
    "norm-exempt": {"clipping": NORM | EXEMPT, "optimizer": ADAMW},
    "norm-exempt-own": {"clipping": NORM | {"exempt": ["embedding"], "eps": 0.01}},
    "value-exempt": half(DYNAMIC, clipping=VALUE | {"exempt": ["bias"]}, optimizer=SGD),
    "keras-momentum": {"optimizer": INSIDE | L2, "schedule": COSINE},
    "keras-nesterov": half(FALLING, optimizer=NESTEROV | INSIDE, schedule=COSINE),
    "eps-hat": {"optimizer": ADAMW | EPS_HAT | {"eps": 1e-2}},
    "eps-hat-adam": half(DYNAMIC, optimizer=ADAM | EPS_HAT | L2, schedule=COSINE),
    "raw-moments": {"optimizer": ADAMW | RAW},
    "raw-moments-adam": half(DYNAMIC, optimizer=ADAM | RAW | L2),
    "raw-moments-groups": half(DYNAMIC, optimizer=ADAMW | RAW | GROUPS),
    "lamb": {"optimizer": LAMB},
    "lamb-raw": half(DYNAMIC, optimizer=LAMB | RAW | {"always_adapt": False}, schedule=COSINE),
    "lamb-groups": {"optimizer": LAMB | GROUPS | {"always_adapt": False}},
    "lion": {"optimizer": LION},
    "lion-scaled": half(FALLING, optimizer=LION | GROUPS, clipping=NORM),
    "adafactor": {"optimizer": ADAFACTOR},
    "adafactor-fast": {"optimizer": ADAFACTOR | {"learning_rate": 0.5}},  # bounded by 1/sqrt(t)
    "adafactor-scaled": half(DYNAMIC, optimizer=ADAFACTOR | {"clip_threshold": 1.5} | GROUPS),
    "groups": {"optimizer": ADAMW | GROUPS, "schedule": COSINE},
    "groups-no-decay": {"optimizer": SGD | GROUPS},
    "groups-none": {"optimizer": SGD | {"weight_decay": 0.1} | NEVER_MATCHED},
    "ema": {"optimizer": ADAMW, **EMA},
    "ema-scaled": half(FALLING, optimizer=MOMENTUM, ema={"decay": 0.0}),
    "polynomial": {"optimizer": ADAMW, "schedule": POLYNOMIAL},
    "inverse-sqrt": {"optimizer": SGD, "schedule": INVERSE},
    "bert-decay": half(DYNAMIC, schedule=ATTEMPTS | {"decay_from": "start"}),
    "full": full(DYNAMIC),
    "full-everything": full(HYSTERESIS, **EMA, clipping=NORM | EXEMPT, optimizer=ADAMW | GROUPS),
    "full-half-sums": full(FALLING, accumulation=IN_HALF, optimizer=MOMENTUM),
    "full-bfloat16": {
        "precision": FULL_BFLOAT16,
        "clipping": NORM | {"eps": 0.0},
        "optimizer": LION,
    },
    "full-bfloat16-sums": {
        "precision": FULL_BFLOAT16,
        "accumulation": IN_HALF,
        "ema": {"decay": 0.5},
    },
}
# The same with torch.cuda.amp.
OLD = "@2.1"
for _name in (
    *("momentum-falling", "nesterov", "sgd-floor", "adam-patient", "adamw-inexact"),
    *("adamw-static", "adamw-attempts", "sgd-bounds", "adamw-everywhere"),
    *("full-everything", "adafactor-fast", "adafactor-scaled", "lamb", "raw-moments-groups"),
    "keras-nesterov",
):
    CASES[f"{_name}{OLD}"] = CASES[_name]
MORE = {
    *("sgd", "sgd-l2-everywhere", "sgd-dynamic-value", "sgd-floor", "nesterov", "adam"),
    *("adam-l2-everywhere", "adamw-everywhere", "adamw-no-decay", "adamw-attempts"),
    *("adamw-falling", "adamw-inexact-patient", "adamw-static", "momentum-hysteresis"),
    *("adam-l2-odd-plain", "adamw-plain", "nesterov-falling-plain", "adamw-hysteresis-plain"),
    *("cumulative", "tokens", "each-norm", "norm-exempt", "value-exempt", "keras-momentum"),
    *("eps-hat", "raw-moments", "raw-moments-adam", "lamb-groups", "lion", "adafactor"),
    *("groups-no-decay", "ema", "full", "full-bfloat16", "sgd-floor@2.1", "adam-patient@2.1"),
    *("nesterov@2.1", "adamw-static@2.1", "adamw-attempts@2.1", "adamw-everywhere@2.1"),
    *("adafactor-fast@2.1", "lamb@2.1", "keras-nesterov@2.1", "momentum-falling@2.1"),
    *("sgd-l2-flush", "momentum-cosine", "sgd-bounds-plain", "groups", "bert-decay"),
    *("adafactor-scaled", "adamw-inexact@2.1", "sgd-bounds@2.1", "raw-moments-groups@2.1"),
}
"""Further combinations of what other cases exercise."""
