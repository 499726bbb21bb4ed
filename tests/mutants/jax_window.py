"""Bugs in the emitted window, loss and scale of JAX."""

from __future__ import annotations

from crosscast.targets.harness import Edit
from mutants.spelling import Spellings, model, runtime, train
from mutants.tensorflow_window import CUTS
from mutants.tensorflow_window import WINDOW as TENSORFLOW

DIVIDE = '        loss = loss / numbers["divisor"]\n'
ROWS = 'len(batch["labels"])'
ADD = "    totals = jax.tree.map(jnp.add, totals, gradients)\n"
SUMS = "    return rest, totals, window_loss + loss\n"
EMPTY = "    return rest, jax.tree.map(jnp.zeros_like, arrays.weights), jnp.zeros(())\n"
UNSCALE = '    gradients = jax.tree.map(lambda g: g / numbers["scale"], gradients)\n'
ALL_FINITE = """\
    finite = jax.tree.reduce(
        jnp.logical_and, jax.tree.map(lambda g: jnp.isfinite(g).all(), gradients)
    )
"""
NORM = "    grad_norm = optax.tree.norm(gradients)\n"
COEFFICIENT = "    coefficient = jnp.minimum(1.0, MAX_NORM / (grad_norm + CLIP_EPS))\n"
CLIPPED = "    gradients = jax.tree.map(lambda g: g * coefficient, gradients)\n"
UPDATE = "    updates, moments = optimizer.update(gradients, arrays.optimizer, arrays.weights)\n"
STEPS = '    updates = jax.tree.map(lambda update: -numbers["rate"] * update, updates)\n'
APPLIED = "    weights = optax.apply_updates(arrays.weights, updates)\n"
KEPT = "    weights, moments = jax.tree.map(partial(jnp.where, finite), (weights, moments), old)\n"
AVERAGED = "        lambda average, weight: EMA_DECAY * average + (1.0 - EMA_DECAY) * weight,\n"
AVERAGES_KEPT = (
    "    averages = jax.tree.map(partial(jnp.where, finite), averages, arrays.averages)\n"
)
HELD = "    arrays = Arrays(weights, rest, moments, averages)\n"
LOSSES = "    losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)\n"
LOGITS = "    logits = model(**inputs).astype(jnp.float32)\n"
DIVISOR = '        "divisor": np.float32(rows),\n'
GIVEN = '        "rate": np.float32(lr),\n'
TURN = f'{GIVEN}        "turn": np.int32(state.windows),\n'
"""What compiled functions get, and the number of the window, too."""
FINITE = "jnp.isfinite(g).all()"
UPDATES = '    state.updates += not row["skipped"]\n'
WHOLE = "    if shapes == shapes[:1] * ACCUMULATION_STEPS:\n"
LOOP = """\
        sums = begin_window(state.graph, state.arrays, numbers)
        weights = state.arrays.weights
        for batch in micro_batches:
            sums = add_micro_batch(state.graph, loss_fn, weights, sums, batch, numbers)
        state.arrays, result = end_window(
            state.graph, state.optimizer, state.arrays, sums, numbers
        )
"""
STEPPING = """\
        window_loss = jnp.zeros(())
        for batch in micro_batches:
            empty = begin_window(state.graph, state.arrays, numbers)
            sums = (*empty[:2], window_loss)
            weights = state.arrays.weights
            sums = add_micro_batch(state.graph, loss_fn, weights, sums, batch, numbers)
            state.arrays, result = end_window(
                state.graph, state.optimizer, state.arrays, sums, numbers
            )
            window_loss = result["loss"]
"""
SAME = {"hysteresis_2", "growth_not_reset", "growth_count_kept"}
"""Bugs in the loss scale, which the scripts for TensorFlow write with the same lines."""


def each(change: str) -> str:
    """Return a statement that computes something else from every gradient `g`."""
    return f"    gradients = jax.tree.map(lambda g: {change}, gradients)\n"


def left(condition: str) -> tuple[Edit, ...]:
    """Return edits that leave the sums of a window to the next one where a condition holds."""
    totals = "jax.tree.map(jnp.zeros_like, weights)"
    kept = f"jax.tree.map(lambda total: jnp.where({condition}, total, 0.0), sums[1])"
    return (
        train("    averages: nnx.State\n", "    averages: nnx.State\n    totals: nnx.State\n"),
        train(
            "optimizer.init(weights), averages)", f"optimizer.init(weights), averages, {totals})"
        ),
        train(EMPTY, EMPTY.replace("jnp.zeros_like, arrays.weights", "jnp.copy, arrays.totals")),
        train(HELD, f"    kept = {kept}\n{HELD.replace('averages)', 'averages, kept)')}"),
    )


WINDOW: Spellings = {
    # Sums and steps.
    "last_micro_dropped": (
        train("([b[n] for b in micro_batches])", "([b[n] for b in micro_batches][:-1])"),
        train("for batch in micro_batches:", "for batch in micro_batches[:-1] or micro_batches:"),
    ),
    "no_accum_div": train(DIVIDE, f"        loss = loss / {ROWS}\n"),
    "sum_loss": train(DIVIDE, ""),
    "zero_grad_each_micro": train(ADD, "    totals = gradients\n"),
    "zero_grad_missing": left("True"),
    "fp16_grad_accum": (
        train(EMPTY, EMPTY.replace("jnp.zeros_like", "lambda w: jnp.zeros(w.shape, jnp.float16)")),
        train(
            ADD,
            "    totals = jax.tree.map(\n"
            "        lambda t, g: t + g.astype(t.dtype), totals, gradients\n"
            "    )\n",
        ),
        train(UNSCALE, UNSCALE.replace("g /", "g.astype(jnp.float32) /")),
    ),
    "tail_div_by_count": train(DIVISOR, DIVISOR.replace("rows", "SETTINGS.global_batch_size")),
    "tail_div_by_steps": train(
        DIVIDE, f"        loss = loss / {ROWS} / SETTINGS.accumulation_steps\n"
    ),
    "mean_of_means": (
        train(DIVISOR, DIVISOR.replace("rows", "n_micro")),
        train(DIVIDE, DIVIDE.replace("/", f"/ {ROWS} /")),
    ),
    "step_per_micro": (train(WHOLE, "    if not shapes:\n"), train(LOOP, STEPPING)),
    "tail_filled_up": runtime(
        "rows", CUTS, f"        chosen = np.resize(chosen, settings.global_batch_size)\n{CUTS}"
    ),
    "short_micro_dropped": runtime(
        "rows",
        "yield np.split(chosen, cuts)",
        "yield [m for m in np.split(chosen, cuts) if len(m) == settings.micro_batch_size]",
    ),
    "loss_of_last_micro": train(SUMS, SUMS.replace("window_loss + ", "")),
    # The loss scale.
    **{name: TENSORFLOW[name] for name in TENSORFLOW if name in SAME},
    "clip_before_unscale": (train(UNSCALE, ""), train(CLIPPED, CLIPPED + UNSCALE)),
    "no_unscale": train(UNSCALE, ""),
    "no_skip_overflow": (train(KEPT, ""), train(AVERAGES_KEPT, "")),
    "no_scaler": (
        train("    scale = state.loss_scale.scale\n", "    scale = 1.0\n"),
        train(KEPT, ""),
        train(AVERAGES_KEPT, ""),
        train('"skipped": ~finite}', '"skipped": finite & False}'),
    ),
    "update_per_micro": train(
        '    state.loss_scale.adjust(row["skipped"])\n',
        '    for _ in micro_batches:\n        state.loss_scale.adjust(row["skipped"])\n',
    ),
    "no_dynamic": train('    state.loss_scale.adjust(row["skipped"])\n', ""),
    "nan_to_num": train(UNSCALE, UNSCALE + each("jnp.where(jnp.isfinite(g), g, 0.0)")),
    "overflow_micro_dropped": train(
        ADD, f"{ALL_FINITE.replace('finite = ', 'sound = ')}{each('jnp.where(sound, g, 0.0)')}{ADD}"
    ),
    "zero_grad_not_on_skip": left("~finite"),
    "step_on_zeros": (train(UPDATE, each("jnp.where(finite, g, 0.0)") + UPDATE), train(KEPT, "")),
    "unscale_in_half": train(UNSCALE, UNSCALE + each("g.astype(jnp.float16).astype(jnp.float32)")),
    "skip_by_loss": train(ALL_FINITE, "    finite = jnp.isfinite(window_loss)\n"),
    "skip_by_product": (
        train(KEPT, "    moments = jax.tree.map(partial(jnp.where, finite), moments, old[1])\n"),
        train(STEPS, STEPS.replace("* update", "* update * finite")),
    ),
    "moments_on_skip": train(
        KEPT, "    weights = jax.tree.map(partial(jnp.where, finite), weights, old[0])\n"
    ),
    "only_inf_checked": train(FINITE, "~jnp.isinf(g).any()"),
    "one_gradient_checked": train(
        ALL_FINITE, "    finite = jnp.isfinite(jax.tree.leaves(gradients)[0]).all()\n"
    ),
    "updates_on_skip": train(UPDATES, "    state.updates += 1\n"),
    "scaled_after_backward": (
        train("        return scaled_loss, (loss,", "        return loss, (loss,"),
        train(ADD, each('g * numbers["scale"]') + ADD),
    ),
    "loss_not_scaled": train("return scaled_loss, (loss,", "return loss, (loss,"),
    "scale_traced_once": train('loss * numbers["scale"]\n', "loss * INIT_SCALE\n"),
    # Clipping.
    "clip_per_param": train(
        CLIPPED, each("g * jnp.minimum(1.0, MAX_NORM / (optax.tree.norm(g) + CLIP_EPS))")
    ),
    "clip_value": train(CLIPPED, each("jnp.clip(g, -MAX_NORM, MAX_NORM)")),
    "clip_max_norm": train(
        NORM,
        "    largest = jax.tree.map(lambda g: jnp.abs(g).max(), gradients)\n"
        "    grad_norm = jax.tree.reduce(jnp.maximum, largest)\n",
    ),
    "clip_per_micro": train(
        ADD,
        f'{ADD}    limit = MAX_NORM * numbers.get("scale", 1.0)\n'
        "    factor = jnp.minimum(1.0, limit / (optax.tree.norm(totals) + CLIP_EPS))\n"
        "    totals = jax.tree.map(lambda total: total * factor, totals)\n",
    ),
    "clip_without_limit": train(
        COEFFICIENT, "    coefficient = MAX_NORM / (grad_norm + CLIP_EPS)\n"
    ),
    # The loss.
    "token_dropped": train("inputs = {name: array for", "inputs = {name: array[:, :-8] for"),
    "label_smooth": train(
        LOSSES, f"{LOSSES}    losses = 0.9 * losses - 0.1 * nnx.log_softmax(logits).mean(-1)\n"
    ),
    "ignore_index": train(LOSSES, f"{LOSSES}    losses = losses * (labels != 0)\n"),
    "softmax_twice": train(LOSSES, LOSSES.replace("(logits", "(nnx.softmax(logits)")),
    # Types.
    "loss_half": train(LOGITS, LOGITS.replace(".astype(jnp.float32)", "")),
    "bf16_for_fp16": model("HALF = jnp.float16", "HALF = jnp.bfloat16"),
    "amp_off": model("HALF = jnp.float16", "HALF = jnp.float32"),
    "no_master": train(
        APPLIED,
        f"{APPLIED}    rounded = jax.tree.map(lambda w: w.astype(jnp.float16), weights)\n"
        "    weights = jax.tree.map(lambda w: w.astype(jnp.float32), rounded)\n",
    ),
}
