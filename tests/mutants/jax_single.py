"""Bugs of JAX in one tensor, and in data types of single values."""

from __future__ import annotations

from mutants.jax_late import MOVED
from mutants.jax_update import DIRECTIONS
from mutants.jax_window import AVERAGED, CLIPPED, COEFFICIENT, GIVEN, HELD, NORM
from mutants.spelling import Spellings, around, train

MODULES = "    modules = dict(nnx.iter_modules(model))\n"
SPARED = "return not isinstance(modules[path[:-1]], spared)"

SINGLE: Spellings = {
    "one_norm_decays": (
        train(
            MODULES,
            f"{MODULES}    norms = (path for path, module in modules.items()\n"
            "             if isinstance(module, nnx.LayerNorm))\n"
            "    first = next(norms, None)\n",
        ),
        train(SPARED, f"{SPARED} or path[:-1] == first"),
    ),
    "one_eps_inside": train(
        DIRECTIONS,
        f"{DIRECTIONS}        leaves, tree = jax.tree.flatten(directions)\n"
        "        m, v = jax.tree.leaves(mean)[0], jax.tree.leaves(square)[0]\n"
        "        leaves[0] = m / correction / jnp.sqrt(v / second + EPS)\n"
        "        directions = jax.tree.unflatten(tree, leaves)\n",
    ),
    "one_unclipped": (
        train(NORM, NORM.replace("gradients", "jax.tree.leaves(gradients)[:-1]")),
        train(
            CLIPPED,
            f"    spared = jax.tree.leaves(gradients)[-1]\n{CLIPPED}"
            "    leaves, tree = jax.tree.flatten(gradients)\n"
            "    gradients = jax.tree.unflatten(tree, [*leaves[:-1], spared])\n",
        ),
    ),
    "one_average": train(
        HELD,
        "    leaves, tree = jax.tree.flatten(averages)\n"
        "    leaves[-1] = jax.tree.leaves(weights)[-1]\n"
        f"    averages = jax.tree.unflatten(tree, leaves)\n{HELD}",
    ),
    "one_moment_rounded": around(
        "",
        "    own = state.arrays.optimizer\n"
        '    leaves, tree = jax.tree.flatten(optax.tree.get(own, "nu"))\n'
        "    leaves[0] = leaves[0].astype(jnp.bfloat16).astype(jnp.float32)\n"
        "    squares = jax.tree.unflatten(tree, leaves)\n"
        "    state.arrays.optimizer = optax.tree.set(own, nu=squares)\n",
    ),
    "rate_in_half": train(GIVEN, GIVEN.replace("(lr)", "(np.float16(lr))")),
    "clip_in_half": train(
        COEFFICIENT,
        f"{COEFFICIENT}    coefficient = coefficient.astype(jnp.float16).astype(jnp.float32)\n",
    ),
    "averages_in_half": train(
        AVERAGED,
        f"        lambda average, weight: ({MOVED.partition(': ')[2]})\n"
        "        .astype(jnp.float16)\n        .astype(jnp.float32),\n",
    ),
    "loss_rounded": train('{"loss": window_loss,', '{"loss": window_loss.astype(jnp.float16),'),
}
