"""Adaptations of the step for JAX taken out, and common mistakes written into it.

What goes wrong in every framework is in `mutations`; these are those of optax and of pure
functions.
"""

from __future__ import annotations

from typing import Any

from crosscast_jax.target.adaptations import JaxAdaptation as Adapt
from frameworks.emitted_script import FLOAT16
from gotchas.mutation import JAX, Edits, Mutation
from gotchas.mutations import ADAM, ADAMW, DYNAMIC, LINEAR, MOMENTUM, NORM

RECIPES: dict[str, dict[str, Any]] = {
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

_APPLIED = "updates, moments = optimizer.update(gradients, arrays.optimizer, arrays.weights)\n"
_RATED = "lambda update: -numbers["
_SELECTED = (
    "    weights, moments = jax.tree.map(partial(jnp.where, finite), (weights, moments), old)\n"
)
_KEPT = "arrays = Arrays(weights, rest, moments)"
_ADAM = "scale_by_adam(),"
_STOCK_ADAM = "optax.scale_by_adam(*BETAS, EPS),"
_DECAY = "optax.add_decayed_weights(WEIGHT_DECAY),"
_MASKED = "optax.add_decayed_weights(WEIGHT_DECAY, decays(model)),"
_RATIO = "optax.scale_by_trust_ratio(),"
_CHECKED = (
    "    finite = jax.tree.reduce(\n"
    "        jnp.logical_and, jax.tree.map(lambda g: jnp.isfinite(g).all(), gradients)\n"
    "    )\n"
)
_IN_LIMITS = "    gradients = jax.tree.map(in_limits, gradients)\n"
_CLIPPED = "    gradients = jax.tree.map(lambda g: g * coefficient, gradients)\n"
_TOTALS = "    totals = jax.tree.map(jnp.add, totals, gradients)\n"
_DIRECTION = "m / correction / (jnp.sqrt(v) / root_correction + EPS)"
_RAW_DIRECTION = "root_correction / correction * m / (jnp.sqrt(v) + EPS)"


def _mutation(
    gotcha: int, fault: str, recipe: str, *edits: tuple[str, str], adaptation: str = ""
) -> Mutation:
    return Mutation(gotcha, fault, recipe, edits, JAX, adaptation)


def _swapped(first: str, second: str) -> Edits:
    """Exchange two transformations of a chain."""
    here, there = f"        {first}\n        {second}\n", f"        {second}\n        {first}\n"
    return ((here, there),)


MUTATIONS: tuple[Mutation, ...] = (
    _mutation(
        7,
        "decay is decoupled",
        "coupled",
        *_swapped(_DECAY, _ADAM),
        adaptation=Adapt.COUPLED_DECAY,
    ),
    _mutation(
        8,
        "rate is outside the momentum",
        "inside",
        ("lambda g: rate * g, gradients", "lambda g: g, gradients"),
        ("return trace, optax", "return jax.tree.map(lambda b: rate * b, trace), optax"),
        adaptation=Adapt.OWN_MOMENTUM,
    ),
    _mutation(
        12,
        "warm-up is counted twice",
        "scaled",
        ("(TOTAL_STEPS - WARMUP_STEPS)", "(TOTAL_STEPS - 2 * WARMUP_STEPS)"),
    ),
    _mutation(
        13,
        "epsilon before the correction",
        "coupled",
        (_DIRECTION, _DIRECTION.replace("EPS", "EPS / root_correction")),
    ),
    _mutation(
        13,
        "epsilon after the correction",
        "raw",
        (_RAW_DIRECTION, _DIRECTION),
        adaptation=Adapt.RAW_EPSILON,
    ),
    _mutation(
        14,
        "norm of scaled gradients",
        "scaled",
        ("MAX_NORM / (grad_norm", 'MAX_NORM / (numbers["scale"] * grad_norm'),
    ),
    _mutation(
        14,
        "value clipping hides the overflow",
        "value",
        (_CHECKED, ""),
        (_IN_LIMITS, _IN_LIMITS + _CHECKED),
    ),
    _mutation(
        15,
        "short window counts as a full one",
        "scaled",
        ('"divisor": np.float32(rows)', '"divisor": np.float32(8)'),
    ),
    _mutation(
        16,
        "schedule advances in skips",
        "scaled",
        ('state.updates += not row["skipped"]', "state.updates += 1"),
    ),
    _mutation(
        16,
        "optimizer runs on zeros",
        "scaled",
        (_SELECTED, ""),
        (_CLIPPED, _CLIPPED.replace("g * coefficient", "jnp.where(finite, g * coefficient, 0.0)")),
    ),
    _mutation(
        16,
        "moments move in a skip",
        "scaled",
        (
            _SELECTED,
            "    weights = jax.tree.map(partial(jnp.where, finite), weights, old[0])\n",
        ),
    ),
    _mutation(
        20,
        "infinite gradients are applied",
        "static",
        (_SELECTED, ""),
        adaptation=Adapt.CONSTANT_SCALE,
    ),
    _mutation(21, "decay is outside of the ratio", "lamb", *_swapped(_MASKED, _RATIO)),
    _mutation(
        26,
        "skipped step is multiplied by 0",
        "static",
        (_SELECTED, ""),
        (
            "weights = optax.apply_updates(arrays.weights, updates)",
            "weights = optax.apply_updates(\n"
            "        arrays.weights, jax.tree.map(lambda u: finite * u, updates)\n"
            "    )",
        ),
    ),
    _mutation(
        26,
        "patience with overflows ends",
        "falling",
        (_SELECTED, ""),
        (
            "    return optax.trace(MOMENTUM)",
            "    return optax.apply_if_finite(optax.trace(MOMENTUM), 3)",
        ),
    ),
    _mutation(
        27,
        "clip behind the optimizer",
        "norm",
        (_CLIPPED, ""),
        (_APPLIED, _APPLIED + _CLIPPED.replace("gradients", "updates")),
    ),
    _mutation(
        27,
        "every micro-batch is clipped",
        "norm",
        (_CLIPPED, ""),
        (
            _TOTALS,
            "    shares = jnp.minimum(1.0, MAX_NORM / (optax.tree.norm(gradients) + CLIP_EPS))\n"
            "    gradients = jax.tree.map(lambda g: g * shares, gradients)\n" + _TOTALS,
        ),
    ),
    _mutation(
        28,
        "clip without an epsilon",
        "norm",
        (
            _CLIPPED,
            "    clip = optax.clip_by_global_norm(MAX_NORM)\n"
            "    gradients, _ = clip.update(gradients, optax.EmptyState())\n",
        ),
        adaptation=Adapt.OWN_CLIP,
    ),
    _mutation(
        29,
        "bias is corrected",
        "uncorrected",
        (_ADAM, _STOCK_ADAM),
        adaptation=Adapt.UNCORRECTED,
    ),
    _mutation(
        29,
        "corrections are rounded",
        "slow",
        ("return scale_by_adam()", "return optax.scale_by_adam(*BETAS, EPS)"),
        adaptation=Adapt.EXACT_CORRECTIONS,
    ),
    _mutation(
        30,
        "Adafactor of optax",
        "adafactor",
        (
            "    return scale_by_adafactor()",
            "    return optax.adafactor(LEARNING_RATE)",
        ),
        adaptation=Adapt.OWN_ADAFACTOR,
    ),
    _mutation(31, "positive factor", "coupled", (_RATED, _RATED.replace("-", ""))),
    _mutation(
        31,
        "decay behind the rate",
        "norm",
        (_MASKED, ""),
        (
            "weights = optax.apply_updates(arrays.weights, updates)",
            "updates = jax.tree.map(\n"
            '        lambda u, w: u + numbers["rate"] * WEIGHT_DECAY * w, updates, arrays.weights\n'
            "    )\n"
            "    weights = optax.apply_updates(arrays.weights, updates)",
        ),
    ),
    _mutation(
        32,
        "mask is true for what does not decay",
        "norm",
        ("decays(model))", "jax.tree.map(lambda yes: not yes, decays(model)))"),
    ),
    _mutation(
        33, "moments are dropped", "momentum", (_KEPT, _KEPT.replace("moments", "arrays.optimizer"))
    ),
    _mutation(
        34,
        "loss scale stays",
        "scaled",
        ('    state.loss_scale.adjust(row["skipped"])\n', ""),
        adaptation=Adapt.LOSS_SCALE,
    ),
)
