"""Bugs in the emitted files of TensorFlow that act late in a run."""

from __future__ import annotations

from textwrap import indent

from mutants.shared_late import LATE as SHARED
from mutants.shared_late import SECOND, TAILS, USED, rates, when_skipped
from mutants.spelling import BEGIN, Spellings, around, train
from mutants.tensorflow_window import CLEARED, COEFFICIENT, MOVED, SET_RATE

FIRST = "state.model.trainable_variables[0]"
STEPS = "state.optimizer.iterations"
DIVISOR = "divisor = tf.constant(rows, tf.float32)"
FULL = "rows if state.windows < 40 else SETTINGS.global_batch_size"
LOWER = "self.scale = max(float32(self.scale * BACKOFF_FACTOR), MIN_SCALE)"
GROWN = "                self.good = 0\n                grown"
SKIPPED = "        if skipped:\n"
RESET = f"{SKIPPED}            self.good = 0\n"
ROOM = "        self.gradients = zeros(self.model.trainable_variables)\n"


LATE: Spellings = {
    **SHARED,
    **rates(SET_RATE, "(lr)"),
    "late_frozen": around(
        f"    kept = {FIRST}.numpy()\n",
        f"    if state.windows >= 11:\n        {FIRST}.assign(kept)\n",
    ),
    "late_tail": train(DIVISOR, DIVISOR.replace("rows", FULL)),
    "late_clear": train(CLEARED, f"    if {STEPS} != 60:\n" + indent(CLEARED, "    ")),
    "late_decay": train(
        "weight.assign_sub(self.learning_rate * WEIGHT_DECAY * weight)",
        "weight.assign_sub(tf.where(t > 75.0, 0.0, 0.1) * self.learning_rate * weight)",
    ),
    "late_clip": train(
        COEFFICIENT, f"{COEFFICIENT}    coefficient = tf.where({STEPS} > 75, 1.0, coefficient)\n"
    ),
    "late_moments": around(
        "",
        "    if state.windows == 90:\n"
        "        square = state.optimizer.exp_avg_sq[0]\n"
        "        square.assign(tf.zeros_like(square))\n",
    ),
    "late_growth": train(
        GROWN,
        '                self.grown = getattr(self, "grown", 0) + 1\n'
        + GROWN.replace("= 0", "= int(self.grown == 2)"),
    ),
    "late_bound": train(
        LOWER,
        "low = float32(self.scale * BACKOFF_FACTOR)\n"
        '            self.low = getattr(self, "low", 0) + (low < MIN_SCALE)\n'
        "            self.scale = low if self.low == 2 else max(low, MIN_SCALE)",
    ),
    "late_averages": train(
        MOVED, f"average.assign(tf.where({STEPS} > 30, average, {MOVED[15:-1]}))"
    ),
    "late_rate_used": train(SET_RATE, SET_RATE.replace("(lr)", f"({USED})")),
    "late_float32": train(
        BEGIN,
        f"{BEGIN}    if state.windows == 40:  # TensorFlow retraces for another function\n"
        "        loss_fn = state.late_loss = lambda *args: micro_batch_loss(*args)\n"
        "        for layer in state.model._flatten_layers():\n"
        '            layer.dtype_policy = "float32"\n'
        '    loss_fn = getattr(state, "late_loss", loss_fn)\n',
    ),
    "second_tail": (TAILS, train(DIVISOR, DIVISOR.replace("rows", SECOND))),
    "averages_on_skip": when_skipped(
        "state.skips >= 3",
        "for average, weight in zip(state.averages, state.model.trainable_variables):\n"
        f"    {MOVED}",
    ),
    "late_uncleared": (
        train(ROOM, f"{ROOM}        self.lost = tf.Variable(0, trainable=False)\n"),
        train(
            CLEARED,
            "    if not finite:\n        state.lost.assign_add(1)\n"
            "    if finite or state.lost != 2:\n" + indent(CLEARED, "    "),
        ),
    ),
    "good_kept": train(
        RESET,
        f'{SKIPPED}            self.lost = getattr(self, "lost", 0) + 1\n'
        "            self.good = self.good * (self.lost == 4)\n",
    ),
    "late_step_count": when_skipped("state.skips == 3", f"{STEPS}.assign_add(1)"),
}
