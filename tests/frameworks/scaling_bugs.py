"""Bugs of data-parallel scripts, and by which check and cause the scaling law shows them."""

from __future__ import annotations

from scaling_bench import Edits

NO_SYNC = "with contextlib.nullcontext() if last else model.no_sync():"
UNSCALE = "    state.scaler.unscale_(state.optimizer)\n"
STEP = "    state.scaler.step(state.optimizer)\n"
REDUCE = {
    "torch": (
        "    for p in model.parameters():\n"
        "        torch.distributed.all_reduce(p.grad)\n"
        "        p.grad /= PROCESSES\n"
    ),
    "paddle": (
        "    with paddle.no_grad():\n"
        "        for p in model.parameters():\n"
        "            paddle.distributed.all_reduce(p.grad)\n"
        "            p.grad.multiply_(paddle.to_tensor(1.0 / PROCESSES))\n"
    ),
    "tensorflow": (
        "    add = state.strategy.reduce\n"
        "    gradients = [add('SUM', g, axis=None) / PROCESSES for g in gradients]\n"
    ),
}
ALONE: Edits = [(NO_SYNC, "with model.no_sync():")]
"""Gradients are not reduced."""
ALONE_IN_TENSORFLOW: Edits = [("return means[:-1], means[-1]", "return gradients, means[-1]")]
NORM = "    grad_norm = tf.linalg.global_norm(gradients)\n"
ADDED = "    rest, *added = sums\n"
"""What a process of JAX has added up: gradients, and the loss."""
MEANS = "    sums = (rest, *over_processes(jnp.mean, added))\n"
CLIPPED = """\
    norm = optax.tree.norm(added[0]) / numbers["scale"]
    factor = jnp.minimum(1.0, MAX_NORM / (norm + CLIP_EPS))
    added[0] = jax.tree.map(lambda g: g * factor, added[0])
"""
ROW = "    row = {name: number.item() for name, number in jax.device_get(result).items()}\n"
FINITE = """\
    finite = jax.tree.reduce(
        jnp.logical_and, jax.tree.map(lambda g: jnp.isfinite(g).all(), gradients)
    )
"""
OWN_FINITE = """\
    own = [jnp.isfinite(g).all() for g in jax.tree.leaves(added[0])]
    numbers["finite"] = np.bool_(all(own))
"""
SHARED: dict[str, Edits] = {
    "sum": [("rows / PROCESSES", "rows / PROCESSES / PROCESSES")],
    "rows given twice": [("settings)[rank :: settings.processes]", "settings)")],
}
BUGS: dict[str, dict[str, Edits]] = {
    "torch": SHARED
    | {
        "divided twice": [("(rows / PROCESSES)", "rows")],
        "counts of one process": [
            ("    torch.distributed.all_reduce(totals)\n", ""),
            ("(rows / PROCESSES)", "rows"),
        ],
        "not reduced": ALONE,
        "clipped before the reduction": [*ALONE, (STEP, REDUCE["torch"] + STEP)],
        "each process looks by itself": [*ALONE, (UNSCALE, UNSCALE + REDUCE["torch"])],
    },
    "paddle": SHARED
    | {"each process looks by itself": [*ALONE, (UNSCALE, UNSCALE + REDUCE["paddle"])]},
    "tensorflow": SHARED
    | {
        "not reduced": ALONE_IN_TENSORFLOW,
        "each process looks by itself": [*ALONE_IN_TENSORFLOW, (NORM, REDUCE["tensorflow"] + NORM)],
    },
    "jax": SHARED
    | {
        "divided twice": [("(rows / PROCESSES)", "(rows)")],
        "counts of one process": [
            ("    rows, n_micro = over_processes(jnp.sum, counts).tolist()\n", ""),
            ("(rows / PROCESSES)", "(rows)"),
        ],
        "not reduced": [
            (MEANS, "    sums = (rest, added[0], over_processes(jnp.mean, added[1]))\n")
        ],
        "clipped before the reduction": [
            (ADDED, ADDED + CLIPPED),
            (ROW, ROW + '    row["grad_norm"] = norm.item()\n'),
        ],
        "each process looks by itself": [
            (ADDED, ADDED + OWN_FINITE),
            (FINITE, '    finite = numbers["finite"]\n'),
        ],
    },
}
"""By framework and name: what is replaced in the script."""
SHOWS = {
    "sum": ("plain", "gradient norm", "gradients are summed over the 2 processes"),
    "divided twice": ("plain", "loss", "gradients are divided twice over the 2 processes"),
    "rows given twice": ("plain", "data", "several processes get the same rows"),
    "counts of one process": ("plain", "rows", "a process reports values of its own rows"),
    "not reduced": ("plain", "processes hold the same state", "gradients are not reduced"),
    "clipped before the reduction": (
        "plain",
        "gradient norm",
        "each process computes the norm and clips before",
    ),
    "each process looks by itself": (
        "overflow",
        "processes agree on the trace",
        "each process checks its own gradients for inf and nan",
    ),
}
"""By name of a bug: the scene, a check that fails, the likely cause."""
