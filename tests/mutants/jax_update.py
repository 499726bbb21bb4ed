"""Bugs in the emitted optimizer of JAX, and in the rate that it gets."""

from __future__ import annotations

from mutants.jax_window import GIVEN, KEPT, STEPS
from mutants.spelling import Spellings, train

COUNT = "        count = state.count + 1\n"
MEAN = "            lambda m, g: BETAS[0] * m + (1.0 - BETAS[0]) * g, state.mu, gradients\n"
SQUARE = "            lambda v, g: BETAS[1] * v + (1.0 - BETAS[1]) * g * g, state.nu, gradients\n"
ROOT = "(jnp.sqrt(v) / root_correction + EPS)"
DIRECTIONS = "        directions = jax.tree.map(direction, mean, square)\n"
INITIAL = "        return optax.ScaleByAdamState(jnp.zeros((), jnp.int32), *zeros)\n"
RESULT = "        return directions, optax.ScaleByAdamState(count, mean, square)\n"
DECAYED = "        optax.add_decayed_weights(WEIGHT_DECAY, decays(model)),\n"
ADAM = "        scale_by_adam(),\n"
SPARED = "        spared = (nnx.LayerNorm, nnx.RMSNorm)\n"
RATE = "    lr = learning_rate(state.updates)\n"
UNDECAYED = """\
    zeros = jax.tree.map(jnp.zeros_like, arrays.weights)
    plain, _ = optimizer.update(gradients, arrays.optimizer, zeros)
"""
"""The directions alone: what decays is zero."""

UPDATES: Spellings = {
    "eps_hat": train(ROOT, ROOT.replace("EPS", "EPS / root_correction")),
    "eps_inside_sqrt": train(ROOT, "(jnp.sqrt(v + EPS) / root_correction)"),
    "no_bias_corr": train(f"m / correction / {ROOT}", "m / (jnp.sqrt(v) + EPS)"),
    "l2_not_decoupled": train(ADAM + DECAYED, DECAYED + ADAM),
    "wd_on_all": train(DECAYED, DECAYED.replace(", decays(model)", "")),
    "wd_on_layer_norm": train("return not isinstance(modules[path[:-1]], spared)", "return True"),
    "wd_not_on_embeddings": train(SPARED, SPARED.replace(")", ", nnx.Embed)")),
    "wd_zero": train(DECAYED, DECAYED.replace("WEIGHT_DECAY", "0.0")),
    "wd_default": train(DECAYED, DECAYED.replace("WEIGHT_DECAY", "1e-4")),
    "wd_base_rate": train(
        STEPS,
        f"{UNDECAYED}"
        "    updates = jax.tree.map(\n"
        '        lambda p, u: -numbers["rate"] * p - LEARNING_RATE * (u - p), plain, updates\n'
        "    )\n",
    ),
    "nesterov": train(
        DIRECTIONS,
        "        ahead = jax.tree.map(\n"
        "            lambda m, g: BETAS[0] * m + (1.0 - BETAS[0]) * g, mean, gradients\n"
        f"        )\n{DIRECTIONS.replace('mean', 'ahead')}",
    ),
    "amsgrad": (
        train(
            INITIAL,
            "        largest = jax.tree.map(jnp.copy, zeros[1])\n"
            "        count = jnp.zeros((), jnp.int32)\n"
            "        return optax.ScaleByAmsgradState(count, *zeros, largest)\n",
        ),
        train(
            DIRECTIONS,
            "        largest = jax.tree.map(jnp.maximum, state.nu_max, square)\n"
            f"{DIRECTIONS.replace('square', 'largest')}",
        ),
        train(RESULT, RESULT.replace("Adam", "Amsgrad").replace("square)", "square, largest)")),
    ),
    "bias_corr_per_micro": train("count * math.log", "count * ACCUMULATION_STEPS * math.log"),
    "lazy_moments": (
        train(
            MEAN,
            "            lambda m, g: jnp.where(\n"
            "                g == 0, m, BETAS[0] * m + (1.0 - BETAS[0]) * g\n"
            "            ),\n"
            "            state.mu,\n            gradients,\n",
        ),
        train(
            SQUARE,
            "            lambda v, g: jnp.where(\n"
            "                g == 0, v, BETAS[1] * v + (1.0 - BETAS[1]) * g * g\n"
            "            ),\n            state.nu,\n            gradients,\n",
        ),
    ),
    "moments_reset": train(
        RATE,
        f"{RATE}    if state.windows == 16:\n"
        "        own = state.arrays.optimizer\n"
        "        state.arrays.optimizer = jax.tree.map(jnp.zeros_like, own)\n",
    ),
    "lr_not_set": train(STEPS, STEPS.replace('numbers["rate"]', "LEARNING_RATE")),
    "lr_one_late": train(GIVEN, GIVEN.replace("lr", "learning_rate(max(0, state.updates - 1))")),
    "lr_traced_once": train(STEPS, STEPS.replace('numbers["rate"]', "learning_rate(0)")),
    "step_traced_once": train(COUNT, "        count = jnp.ones((), jnp.int32)\n"),
    "step_counts_skips": train(
        KEPT,
        f'{KEPT}    count = optax.tree.get(arrays.optimizer, "count") + 1\n'
        "    moments = optax.tree.set(moments, count=count)\n",
    ),
}
