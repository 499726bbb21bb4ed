"""Bugs in the emitted files of JAX that act late in a run."""

from __future__ import annotations

from crosscast.targets.harness import Edit
from mutants.jax_update import UNDECAYED
from mutants.jax_window import AVERAGED, COEFFICIENT, DIVISOR, GIVEN, STEPS, TURN, UPDATES, left
from mutants.shared_late import LATE as SHARED
from mutants.shared_late import SECOND, TAILS, USED, rates
from mutants.spelling import BEGIN, Spellings, around, train
from mutants.tensorflow_late import LATE as TENSORFLOW

SAME = {"late_growth", "late_bound", "good_kept"}
"""Bugs in the loss scale, which the scripts for TensorFlow write with the same lines."""
SKIPS = f"""\
    skipped = row["skipped"]
    state.skips = getattr(state, "skips", 0) + skipped
{UPDATES}"""
"""Counts the skipped windows as well."""
LOST = GIVEN + '        "lost": np.int32(getattr(state, "skips", 0)),\n'
MOVED = AVERAGED.strip().removesuffix(",")


def when_skipped(condition: str, statements: str) -> Edit:
    """Return a bug that does more in some skipped windows, which `state.skips` counts from 1."""
    lines = "".join(f"        {line}\n" for line in statements.splitlines())
    return train(UPDATES, f"{SKIPS}    if skipped and {condition}:\n{lines}")


LATE: Spellings = {
    **SHARED,
    **{name: TENSORFLOW[name] for name in TENSORFLOW if name in SAME},
    "late_skip": train(
        UPDATES, SKIPS.replace('not row["skipped"]', "not skipped or state.skips == 4")
    ),
    "updates_wrap": train(
        UPDATES, '    state.updates = (state.updates + (not row["skipped"])) % 128\n'
    ),
    **rates(GIVEN, "(lr)"),
    "late_frozen": around(
        "    rested = np.array(jax.tree.leaves(state.arrays.weights)[0])\n",
        "    if state.windows >= 11:\n"
        "        leaves, tree = jax.tree.flatten(state.arrays.weights)\n"
        "        leaves[0] = jnp.asarray(rested)\n"
        "        state.arrays.weights = jax.tree.unflatten(tree, leaves)\n",
    ),
    "late_tail": train(
        DIVISOR,
        DIVISOR.replace("rows", "rows if state.windows < 40 else SETTINGS.global_batch_size"),
    ),
    "late_clear": (train(GIVEN, TURN), *left('numbers["turn"] == 77')),
    "late_decay": (
        train(GIVEN, TURN),
        train(
            STEPS,
            f"{UNDECAYED}"
            '    ended = numbers["turn"] >= 100\n'
            f"    updates = jax.tree.map(partial(jnp.where, ended), plain, updates)\n{STEPS}",
        ),
    ),
    "late_clip": (
        train(GIVEN, TURN),
        train(
            COEFFICIENT,
            f'{COEFFICIENT}    coefficient = jnp.where(numbers["turn"] >= 100, 1.0, coefficient)\n',
        ),
    ),
    "late_moments": around(
        "",
        "    if state.windows == 90:\n"
        "        own = state.arrays.optimizer\n"
        '        leaves, tree = jax.tree.flatten(optax.tree.get(own, "nu"))\n'
        "        leaves[0] = jnp.zeros_like(leaves[0])\n"
        "        squares = jax.tree.unflatten(tree, leaves)\n"
        "        state.arrays.optimizer = optax.tree.set(own, nu=squares)\n",
    ),
    "late_averages": (
        train(GIVEN, TURN),
        train(
            AVERAGED,
            AVERAGED.replace(": EMA", ': jnp.where(numbers["turn"] >= 30, average, EMA').replace(
                "weight,\n", "weight),\n"
            ),
        ),
    ),
    "late_rate_used": train(GIVEN, GIVEN.replace("(lr)", f"({USED})")),
    "late_float32": train(
        BEGIN,
        f"{BEGIN}    if state.windows == 40:\n"
        "        model = state.model\n"
        "        for _, module in nnx.iter_modules(model):\n"
        "            if isinstance(module, nnx.Linear):\n"
        "                module.dtype = jnp.float32\n"
        "        state.graph = nnx.split(model, nnx.Param, ...)[0]\n",
    ),
    "second_tail": (TAILS, train(DIVISOR, DIVISOR.replace("rows", SECOND))),
    "averages_on_skip": when_skipped(
        "state.skips >= 3",
        "own = state.arrays\n"
        "own.averages = jax.tree.map(\n"
        f"    {MOVED}, own.averages, own.weights\n"
        ")",
    ),
    "late_uncleared": (
        train(GIVEN, LOST),
        *left('~finite & (numbers["lost"] == 1)'),
        train(UPDATES, SKIPS),
    ),
    "late_step_count": when_skipped(
        "state.skips == 3",
        "own = state.arrays.optimizer\n"
        'count = optax.tree.get(own, "count") + 1\n'
        "state.arrays.optimizer = optax.tree.set(own, count=count)",
    ),
}
