"""Bugs in the emitted window, loss and scale of TensorFlow."""

from __future__ import annotations

from textwrap import indent

from crosscast.targets.harness import Edit
from mutants.spelling import Spellings, runtime, spellings, train

CUTS = "        cuts = range(settings.micro_batch_size"
_ROWS = 'tf.cast(tf.shape(batch["labels"])[0], tf.float32)'
_DIVIDED = "        loss = loss / divisor\n"
_HALF_TAPE = '    gradients = tape.gradient(scaled_loss, variables, unconnected_gradients="zero")\n'
_TAPE = _HALF_TAPE.replace("scaled_loss", "loss")
_SUMMED = """\
        if isinstance(gradient, tf.IndexedSlices):  # rows of an embedding
            total.scatter_add(gradient)
        else:
            total.assign_add(gradient)
"""
CLEARED = """\
    for total in state.gradients:
        total.assign(tf.zeros_like(total))
"""
_READ = "    gradients = [total.value() for total in state.gradients]\n"
_UNSCALED = "    gradients = [gradient / scale for gradient in gradients]\n"
NORM = "    grad_norm = tf.linalg.global_norm(gradients)\n"
COEFFICIENT = "    coefficient = tf.minimum(1.0, MAX_NORM / (grad_norm + CLIP_EPS))\n"
CLIPPED = "    gradients = [gradient * coefficient for gradient in gradients]\n"
_STEP = "    if finite:\n        state.optimizer.apply(gradients)\n"
_FINITE = "tf.math.is_finite(g)"
_LOSSES = "    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)\n"
SET_RATE = "state.optimizer.learning_rate.assign(lr)"
MOVED = "average.assign(EMA_DECAY * average + (1.0 - EMA_DECAY) * weight)"
_UPDATES = "    state.updates += not skipped\n"
_SCALE = "    scale = state.loss_scale.scale\n"
_SKIPPED = "    skipped = not finite\n"
_BACK_OFF = "            self.good = 0\n            self.scale = max("
_ADJUST = "    state.loss_scale.adjust(skipped)"


def _after_tape(text: str) -> tuple[tuple[Edit], tuple[Edit]]:
    """Insert a line behind the gradients of a micro-batch, in both variants of the script."""
    return (train(_HALF_TAPE, _HALF_TAPE + text),), (train(_TAPE, _TAPE + text),)


def _stepping(scale: str, scale_tensor: str, results: int) -> tuple[Edit, ...]:
    """Make an optimizer step in every round of both loops over the micro-batches."""
    looped = "    window_loss = tf.zeros(())\n    for i in"
    full = f"window_step(state, window_loss{scale})\n"
    short = f"        result = window_step(state, window_loss{scale_tensor})\n"
    return (
        train(short, f"    {short}"),  # first: without a scale the other edit writes its text
        train(
            looped,
            looped.replace("window_loss =", f"result = tf.zeros({results})\n    window_loss ="),
        ),
        train(f"    return {full}", f"        result = {full}    return result\n"),
    )


WINDOW: Spellings = {
    # Sums and steps.
    "no_accum_div": train(_DIVIDED, f"        loss = loss / {_ROWS}\n"),
    "sum_loss": train(_DIVIDED, ""),
    "zero_grad_each_micro": train(_SUMMED, "        total.assign(gradient)\n"),
    "zero_grad_missing": train(CLEARED, ""),
    "fp16_grad_accum": (
        train(
            "[tf.Variable(tf.zeros(v.shape), trainable=False) for v in variables]",
            "[tf.Variable(tf.zeros(v.shape), trainable=False) for v in variables]\n\n\n"
            "def half_zeros(variables: list[keras.Variable]) -> list[tf.Variable]:\n"
            '    """Make float16 variables of these shapes."""\n'
            "    return [\n"
            "        tf.Variable(tf.zeros(v.shape, tf.float16), trainable=False)\n"
            "        for v in variables\n"
            "    ]",
        ),
        train(
            "self.gradients = zeros(self.model.trainable_variables)",
            "self.gradients = half_zeros(self.model.trainable_variables)",
        ),
        train(_SUMMED, "        total.assign_add(tf.cast(gradient, tf.float16))\n"),
        train(_READ, _READ.replace("total.value()", "tf.cast(total, tf.float32)")),
    ),
    "tail_div_by_count": train(
        "divisor = tf.constant(rows, tf.float32)", "divisor = float(SETTINGS.global_batch_size)"
    ),
    "tail_div_by_steps": train(
        _DIVIDED, f"        loss = loss / {_ROWS} / SETTINGS.accumulation_steps\n"
    ),
    "mean_of_means": (
        train("divisor = tf.constant(rows, tf.float32)", "divisor = tf.constant(n_micro * 1.0)"),
        train(_DIVIDED, f"        loss = loss / {_ROWS} / divisor\n"),
    ),
    "step_per_micro": spellings(_stepping(", scale", ", scale_tensor", 3), _stepping("", "", 2)),
    "tail_filled_up": runtime(
        "rows", CUTS, f"        chosen = np.resize(chosen, settings.global_batch_size)\n{CUTS}"
    ),
    "short_micro_dropped": runtime(
        "rows",
        "yield np.split(chosen, cuts)",
        "yield [m for m in np.split(chosen, cuts) if len(m) == settings.micro_batch_size]",
    ),
    "loss_of_last_micro": train("window_loss += micro_step", "window_loss = micro_step", times=2),
    # The loss scale.
    "clip_before_unscale": (train(_UNSCALED, ""), train(CLIPPED, CLIPPED + _UNSCALED)),
    "no_unscale": train(_UNSCALED, ""),
    "no_skip_overflow": (
        train(_STEP, "    state.optimizer.apply(gradients)\n"),
        train(_UPDATES, "    state.updates += 1\n"),
    ),
    "no_scaler": (
        train(_SCALE, "    scale = 1.0\n"),
        train(_STEP, "    state.optimizer.apply(gradients)\n"),
        train(_SKIPPED, "    skipped = False\n"),
    ),
    "update_per_micro": train(
        _ADJUST, "    for _ in micro_batches:\n        state.loss_scale.adjust(skipped)"
    ),
    "no_dynamic": train(_ADJUST, "    pass"),
    "hysteresis_2": [
        train("    good: int = 0\n", "    good: int = 0\n    bad: int = 0\n"),
        train(
            _BACK_OFF,
            "            self.good, self.bad = 0, self.bad + 1\n"
            "            if self.bad >= 2:\n"
            "                self.bad = 0\n"
            "                self.scale = max(",
        ),
        train("self.good += 1", "self.good, self.bad = self.good + 1, 0"),
    ],
    "growth_not_reset": train(_BACK_OFF, "            self.scale = max("),
    "growth_count_kept": train(
        "                self.good = 0\n                grown", "                grown"
    ),
    "nan_to_num": train(
        _UNSCALED, f"{_UNSCALED}    gradients = [tf.where({_FINITE}, g, 0.0) for g in gradients]\n"
    ),
    "overflow_micro_dropped": (
        train(
            _HALF_TAPE,
            f"{_HALF_TAPE}    gradients = [tf.convert_to_tensor(g) for g in gradients]\n"
            f"    sound = tf.reduce_all([tf.reduce_all({_FINITE}) for g in gradients])\n"
            "    gradients = [tf.where(sound, g, 0.0) for g in gradients]\n",
        ),
    ),
    "zero_grad_not_on_skip": train(CLEARED, "    if finite:\n" + indent(CLEARED, "    ")),
    "step_on_zeros": train(
        _STEP, "    state.optimizer.apply([tf.where(finite, g, 0.0) for g in gradients])\n"
    ),
    "unscale_in_half": train(
        _UNSCALED,
        f"{_UNSCALED}    gradients = [tf.cast(g, tf.float16) for g in gradients]\n"
        "    gradients = [tf.cast(g, tf.float32) for g in gradients]\n",
    ),
    "only_inf_checked": train(_FINITE, "~tf.math.is_inf(g)"),
    "one_gradient_checked": train(
        f"tf.reduce_all([tf.reduce_all({_FINITE}) for g in gradients])",
        "tf.reduce_all(tf.math.is_finite(gradients[0]))",
    ),
    "updates_on_skip": train(_UPDATES, "    state.updates += 1\n"),
    "scaled_after_backward": (
        train("        scaled_loss = loss * scale\n", ""),
        train(
            _HALF_TAPE,
            f"{_TAPE}    gradients = [tf.convert_to_tensor(g) * scale for g in gradients]\n",
        ),
    ),
    "loss_not_scaled": train(_HALF_TAPE, _TAPE),
    "scale_traced_once": train("loss * scale\n", "loss * state.loss_scale.scale\n"),
    # Clipping.
    "clip_per_param": (
        train(CLIPPED, "    gradients = [tf.clip_by_norm(g, MAX_NORM) for g in gradients]\n"),
    ),
    "clip_value": train(
        CLIPPED, "    gradients = [tf.clip_by_value(g, -MAX_NORM, MAX_NORM) for g in gradients]\n"
    ),
    "clip_max_norm": train(
        NORM, "    grad_norm = tf.reduce_max([tf.reduce_max(tf.abs(g)) for g in gradients])\n"
    ),
    "clip_per_micro": spellings(
        *_after_tape("    gradients, _ = tf.clip_by_global_norm(gradients, MAX_NORM * scale)\n")[
            :1
        ],
        _after_tape("    gradients, _ = tf.clip_by_global_norm(gradients, MAX_NORM)\n")[1],
    ),
    "clip_without_limit": train(
        COEFFICIENT, "    coefficient = MAX_NORM / (grad_norm + CLIP_EPS)\n"
    ),
    # The loss.
    "label_smooth": train(
        _LOSSES,
        f"{_LOSSES}    others = -tf.reduce_mean(tf.nn.log_softmax(logits), axis=-1)\n"
        "    losses = 0.9 * losses + 0.1 * others\n",
    ),
    "ignore_index": train(_LOSSES, f"{_LOSSES}    losses *= tf.cast(labels != 0, tf.float32)\n"),
    "softmax_twice": train(_LOSSES, _LOSSES.replace("logits)", "tf.nn.softmax(logits))")),
    "from_logits_forgotten": train(
        _LOSSES, "    losses = keras.losses.sparse_categorical_crossentropy(labels, logits)\n"
    ),
    "lr_not_set": train(f"    {SET_RATE}\n", ""),
    "lr_one_late": train(
        SET_RATE, "state.optimizer.learning_rate.assign(learning_rate(max(0, state.updates - 1)))"
    ),
    "rows_scattered_over": train("total.scatter_add(gradient)", "total.scatter_update(gradient)"),
    "sparse_gradients_dropped": train("total.scatter_add(gradient)", "continue"),
    # Types.
    "loss_half": (
        train(
            "    logits = tf.cast(model(**inputs, training=training), tf.float32)\n",
            "    logits = model(**inputs, training=training)\n",
        ),
    ),
    "bf16_for_fp16": train('DTYPE_POLICY = "mixed_float16"', 'DTYPE_POLICY = "mixed_bfloat16"'),
    "amp_off": train('DTYPE_POLICY = "mixed_float16"', 'DTYPE_POLICY = "float32"'),
}
