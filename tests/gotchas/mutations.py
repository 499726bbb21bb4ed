"""Emitted training steps with an adaptation taken out: what to replace, and in which recipe."""

from __future__ import annotations

from typing import Any

from frameworks.emitted_script import FLOAT16
from gotchas.mutation import (
    ALL,
    EAGER,
    IN_PYTHON,
    PADDLE,
    TENSORFLOW,
    TORCH,
    WITH_MACHINE,
    Mutation,
)

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


def _for(
    targets: tuple[str, ...], gotcha: int, fault: str, recipe: str, *edits: tuple[str, str]
) -> list[Mutation]:
    return [Mutation(gotcha, fault, recipe, edits, target) for target in targets]


_UNSCALE = ("    state.scaler.unscale_(state.optimizer)\n", "")
_STEP = ("state.scaler.step(state.optimizer)", "state.optimizer.step()")
_TICK = ("state.updates += not skipped", "state.updates += 1")
_CLAMP = (
    "min(1.0, (position - WARMUP_STEPS) / (TOTAL_STEPS - WARMUP_STEPS))",
    "(position - WARMUP_STEPS) / (TOTAL_STEPS - WARMUP_STEPS)",
)
_RATE = "learning_rate(state.updates)"
_WARM_UP_END = (
    "min(1.0, position / TOTAL_STEPS)",
    "max(0.0, min(1.0, (position - WARMUP_STEPS) / (TOTAL_STEPS - WARMUP_STEPS)))",
)
_TRUST = (
    "            if decays(weight):\n"
    "                direction = direction + WEIGHT_DECAY * weight\n"
    "            direction = adapted(weight, direction)\n",
    "            direction = adapted(weight, direction)\n"
    "            if decays(weight):\n"
    "                direction = direction + WEIGHT_DECAY * weight\n",
)
_APPLY = "    if finite:\n        state.optimizer.apply(gradients)"

MUTATIONS: tuple[Mutation, ...] = (
    # The Paddle scaler must see a float16 auto_cast first, and never back off by itself.
    *_for(
        (PADDLE,), 3, "scaler turns itself off", "scaled", ('"float16", level', '"bfloat16", level')
    ),
    *_for(
        (PADDLE,),
        3,
        "back-off prints with numpy",
        "scaled",
        ("decr_every_n_nan_or_inf=2**31 - 1", "decr_every_n_nan_or_inf=1"),
    ),
    *_for(
        ALL,
        5,
        "rate counts micro-batches",
        "scaled",
        (_RATE, "learning_rate(state.updates * len(micro_batches))"),
    ),
    *_for(
        (TENSORFLOW,),
        5,
        "overflowed micro-batch is dropped",
        "scaled",
        (
            "total.assign_add(gradient)",
            "total.assign_add(tf.where(tf.math.is_finite(gradient), gradient, 0.0))",
        ),
    ),
    *_for(
        (TORCH,), 7, "decay is decoupled", "coupled", ("torch.optim.Adam(", "torch.optim.AdamW(")
    ),
    *_for(
        (PADDLE,),
        7,
        "decay is decoupled",
        "coupled",
        ("paddle.optimizer.Adam(", "paddle.optimizer.AdamW("),
    ),
    *_for(
        (TENSORFLOW,),
        7,
        "decay is decoupled",
        "coupled",
        (
            "gradient = gradient + WEIGHT_DECAY * weight",
            "weight.assign_sub(self.learning_rate * WEIGHT_DECAY * weight)",
        ),
    ),
    *_for(
        (TENSORFLOW,),
        8,
        "rate is inside the momentum",
        "momentum",
        ("MOMENTUM * buffer + gradient", "MOMENTUM * buffer + self.learning_rate * gradient"),
        ("assign_sub(self.learning_rate * buffer)", "assign_sub(buffer)"),
    ),
    *_for((TORCH,), 9, "no floor", "bounds", ("MIN_SCALE = 6000.0", "MIN_SCALE = 1e-6")),
    *_for((TORCH,), 9, "no ceiling", "bounds", ("MAX_SCALE = 32768.0", "MAX_SCALE = 1e30")),
    *_for(
        WITH_MACHINE,
        9,
        "no floor",
        "bounds",
        (
            "max(float32(self.scale * BACKOFF_FACTOR), MIN_SCALE)",
            "float32(self.scale * BACKOFF_FACTOR)",
        ),
    ),
    *_for(WITH_MACHINE, 9, "no ceiling", "bounds", ("min(grown, MAX_SCALE)", "grown")),
    *_for(ALL, 12, "decay from the end of the warm-up", "classic", _WARM_UP_END),
    *_for(
        (TENSORFLOW,),
        13,
        "epsilon before the correction",
        "coupled",
        ("(root + EPS)", "(root + EPS / root_correction)"),
    ),
    *_for(EAGER, 14, "norm of scaled gradients", "scaled", _UNSCALE),
    *_for(
        (TENSORFLOW,),
        14,
        "norm of scaled gradients",
        "scaled",
        ("MAX_NORM / (grad_norm", "MAX_NORM / (scale * grad_norm"),
    ),
    *_for(EAGER, 14, "value clipping hides the overflow", "value", _UNSCALE),
    *_for(EAGER, 15, "short window counts as a full one", "scaled", ("loss / rows", "loss / 8")),
    *_for(
        (TENSORFLOW,),
        15,
        "short window counts as a full one",
        "scaled",
        ("tf.constant(rows, tf.float32)", "tf.constant(8, tf.float32)"),
    ),
    *_for(IN_PYTHON, 16, "schedule advances in skips", "scaled", _TICK),
    *_for(EAGER, 16, "optimizer steps all the same", "scaled", _STEP),
    *_for(
        (TENSORFLOW,),
        16,
        "optimizer runs on zeros",
        "scaled",
        (
            _APPLY,
            "    state.optimizer.apply([tf.where(finite, g, 0.0) for g in gradients])",
        ),
    ),
    *_for(ALL, 17, "rows count and not tokens", "tokens", ("max(1, tokens)", "rows")),
    *_for(
        (PADDLE,),
        18,
        "decay asks generated names for bias",
        "scaled",
        ("=verdicts.get", '=lambda name: "bias" not in name'),
    ),
    *_for(EAGER, 20, "infinite gradients are applied", "static", _STEP),
    *_for(
        (TENSORFLOW,), 20, "infinite gradients are applied", "static", ("if finite:", "if True:")
    ),
    *_for(
        (PADDLE,), 21, "no decay makes it adam", "lamb", ("always_adapt=True", "always_adapt=False")
    ),
    *_for((TENSORFLOW,), 21, "decay is outside of the ratio", "lamb", _TRUST),
    *_for(
        (TORCH,),
        21,
        "decay is outside of the ratio",
        "lamb",
        (' / root + group["weight_decay"] * weight', " / root"),
        (
            "ratio * direction)",
            'ratio * direction + group["lr"] * group["weight_decay"] * weight)',
        ),
    ),
    *_for(ALL, 22, "schedule goes on after its end", "scaled", _CLAMP),
    *_for(
        (TORCH,),
        25,
        "scale grows one step late",
        "scaled",
        ("growth_interval=GROWTH_INTERVAL", "growth_interval=GROWTH_INTERVAL + 1"),
    ),
    *_for(
        WITH_MACHINE,
        25,
        "scale grows one step late",
        "scaled",
        ("self.good >= GROWTH_INTERVAL", "self.good > GROWTH_INTERVAL"),
    ),
)
