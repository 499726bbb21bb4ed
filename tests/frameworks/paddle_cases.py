"""Sections of recipes whose emitted Paddle step is compared with the reference interpreter."""

from __future__ import annotations

from typing import Any

from frameworks.emitted_script import BFLOAT16, FLOAT16

SGD = {"name": "sgd", "learning_rate": 0.05}
MOMENTUM = SGD | {"momentum": 0.9}
NESTEROV = MOMENTUM | {"nesterov": True}
L2 = {"weight_decay": 0.1, "no_decay": ["bias", "layer_norm"]}
NOWHERE = {"weight_decay": 0.1, "no_decay": ["bias", "layer_norm", "embedding"]}
ADAM = {"name": "adam", "learning_rate": 0.05, "eps": 1e-3}
ADAMW = {"name": "adamw", "learning_rate": 0.05, "weight_decay": 0.1}
NORM = {"kind": "global_norm", "max_norm": 1.0}
VALUE = {"kind": "value", "max_value": 0.2}
DYNAMIC = {"mode": "dynamic", "init_scale": 2.0**14, "growth_interval": 3}
BOUNDS = DYNAMIC | {"min_scale": 6000.0, "max_scale": 2.0**15}
ODD = DYNAMIC | {"growth_factor": 1.5, "backoff_factor": 0.7}
FALLING = DYNAMIC | {"init_scale": 2.0**20}  # the first windows overflow by themselves
HYSTERESIS = DYNAMIC | {"hysteresis": 2, "min_scale": 1e4, "max_scale": 3e4}
PATIENT = FALLING | {"hysteresis": 3, "growth_factor": 1.5, "backoff_factor": 0.7}
STATIC = {"mode": "static", "scale": 1024.0}
COSINE = {"name": "cosine", "warmup_steps": 4, "total_steps": 25, "end_lr": 0.01}
ATTEMPTS = {"name": "linear", "warmup_steps": 2, "total_steps": 25, "tick": "attempt"}
FLAT = {"name": "constant", "total_steps": 30}
BY_BATCH = {"normalize_by": "microbatch"}
FLUSH = {"tail": "flush"}


def half(scaling: dict[str, Any], **sections: Any) -> dict[str, Any]:
    return {"precision": FLOAT16, "loss_scaling": scaling, **sections}


CASES: dict[str, dict[str, Any]] = {
    "sgd": {"optimizer": SGD},
    "sgd-l2-flush": {"optimizer": SGD | L2, "accumulation": FLUSH, "clipping": NORM},
    "sgd-l2-everywhere": {"optimizer": SGD | {"weight_decay": 0.1}, "schedule": FLAT},
    "sgd-dynamic-value": half(DYNAMIC, optimizer=SGD, clipping=VALUE),
    "sgd-l2-bounds": half(BOUNDS, optimizer=SGD | L2),
    "momentum-cosine": {"optimizer": MOMENTUM, "schedule": COSINE, "accumulation": BY_BATCH},
    "momentum-l2-everywhere": {"optimizer": MOMENTUM | {"weight_decay": 0.1}, "clipping": VALUE},
    "momentum-falling": half(FALLING, optimizer=MOMENTUM, schedule=FLAT),
    "momentum-hysteresis": half(HYSTERESIS, optimizer=MOMENTUM | L2, clipping=NORM),
    "momentum-static": half(STATIC, optimizer=MOMENTUM | NOWHERE, schedule=ATTEMPTS),
    "nesterov": {"optimizer": NESTEROV | L2, "schedule": COSINE},
    "nesterov-falling": half(FALLING, optimizer=NESTEROV | L2, clipping=NORM | {"eps": 0.0}),
    "adam": {"optimizer": ADAM, "schedule": FLAT, "clipping": VALUE},
    "adam-l2-everywhere": {"optimizer": ADAM | {"weight_decay": 0.1}, "clipping": NORM},
    "adam-l2-odd": half(ODD, optimizer=ADAM | L2, accumulation=FLUSH | BY_BATCH),
    "adam-patient": half(PATIENT, optimizer=ADAM, clipping=VALUE, schedule=COSINE),
    "adamw": {"optimizer": ADAMW, "clipping": NORM | {"eps": 1e-3}},
    "adamw-everywhere": {"optimizer": ADAMW | {"no_decay": []}, "schedule": COSINE},
    "adamw-nowhere": {"optimizer": ADAMW | NOWHERE},
    "adamw-no-decay": {"optimizer": ADAMW | {"weight_decay": 0.0}, "schedule": FLAT},
    "adamw-attempts": half(DYNAMIC, optimizer=ADAMW, clipping=NORM, schedule=ATTEMPTS),
    "adamw-falling": half(FALLING, optimizer=ADAMW, schedule=COSINE),
    "adamw-hysteresis": half(HYSTERESIS, optimizer=ADAMW, clipping=NORM | {"eps": 1e-3}),
    "adamw-static": half(STATIC, optimizer=ADAMW, clipping=VALUE),
    "adamw-unscaled": half({"mode": "none"}, optimizer=ADAMW),
    "adamw-bfloat16": {"precision": BFLOAT16, "optimizer": ADAMW, "clipping": NORM},
}

# What Paddle lacks, or has in another form.
TOKENS = {"normalize_by": "token"}
CUMULATIVE = FALLING | {"hysteresis": 3, "hysteresis_mode": "cumulative", "growth_interval": 4}
FULL16 = {"mode": "full", "compute_dtype": "float16"}
FULL_B = {"mode": "full", "compute_dtype": "bfloat16"}
IN_HALF = {"dtype": "compute"}
EACH_NORM = {"kind": "per_param_norm", "max_norm": 0.5}
BUT_BIAS = {"exempt": ["bias"]}
RATE_INSIDE = MOMENTUM | {"rate_in_momentum": True}
UNCORRECTED = {"bias_correction": False}
EPS_HAT = {"eps_placement": "before_correction"}
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


def full(scaling: dict[str, Any], **sections: Any) -> dict[str, Any]:
    return {"precision": FULL16, "loss_scaling": scaling, **sections}


CASES |= {
    "tokens": {"optimizer": ADAMW, "accumulation": TOKENS},
    "tokens-half": half(DYNAMIC, optimizer=MOMENTUM, accumulation=TOKENS, clipping=NORM),
    "cumulative": half(CUMULATIVE, optimizer=ADAMW),
    "full-adamw": full(DYNAMIC, optimizer=ADAMW, clipping=NORM),
    "full-falling": full(FALLING, optimizer=MOMENTUM | L2, clipping=VALUE),
    "full-in-half": full(DYNAMIC, optimizer=ADAM, accumulation=IN_HALF),
    "full-in-half-static": full(STATIC, optimizer=LION, accumulation=IN_HALF, **EMA),
    "full-bfloat16": {"precision": FULL_B, "optimizer": ADAMW, "accumulation": IN_HALF},
    "full-bfloat16-float32": {"precision": FULL_B, "optimizer": ADAFACTOR, "clipping": EACH_NORM},
    "each-norm": half(DYNAMIC, optimizer=SGD, clipping=EACH_NORM),
    "each-norm-but-bias": {"optimizer": ADAM, "clipping": EACH_NORM | BUT_BIAS | {"eps": 0.0}},
    "norm-but-bias": half(HYSTERESIS, optimizer=ADAMW, clipping=NORM | BUT_BIAS),
    "norm-but-layers": {
        "optimizer": SGD,
        "clipping": NORM | {"eps": 1e-3, "exempt": ["layer_norm", "embedding"]},
    },
    "value-but-embedding": {"optimizer": SGD, "clipping": VALUE | {"exempt": ["embedding"]}},
    "rate-inside": {"optimizer": RATE_INSIDE, "schedule": COSINE},
    "rate-inside-l2": half(PATIENT, optimizer=RATE_INSIDE | L2 | {"nesterov": True}),
    "rate-inside-groups": {"optimizer": RATE_INSIDE | GROUPS | {"weight_decay": 0.1}},
    "adam-uncorrected": half(FALLING, optimizer=ADAM | UNCORRECTED | L2),
    "adamw-uncorrected": {"optimizer": ADAMW | UNCORRECTED, "schedule": FROM_START},
    "adam-eps-hat": {"optimizer": ADAM | EPS_HAT | {"weight_decay": 0.1}, "schedule": FLAT},
    "adamw-eps-hat": half(FALLING, optimizer=ADAMW | EPS_HAT),
    "adamw-eps-hat-everywhere": {"optimizer": ADAMW | EPS_HAT | {"no_decay": []}},
    "lamb": half(DYNAMIC, optimizer=LAMB, clipping=NORM),
    "lamb-decayed": {"optimizer": LAMB | {"always_adapt": False}, "schedule": FLAT},
    "lamb-no-decay": {"optimizer": LAMB | {"weight_decay": 0.0, "always_adapt": False}},
    "lamb-groups": {"optimizer": LAMB | GROUPS},
    "lamb-uncorrected": half(FALLING, optimizer=LAMB | UNCORRECTED),
    "lamb-uncorrected-decayed": {"optimizer": LAMB | UNCORRECTED | {"always_adapt": False}},
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
