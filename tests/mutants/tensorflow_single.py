"""Bugs of TensorFlow in one tensor, and in data types of single values."""

from __future__ import annotations

from mutants.spelling import Spellings, around, train
from mutants.tensorflow_update import ROOT
from mutants.tensorflow_window import CLIPPED, COEFFICIENT, MOVED, NORM, SET_RATE

VARIABLES = "        self.variables = variables\n"
HALF = "    coefficient = tf.cast(tf.cast(coefficient, tf.float16), tf.float32)\n"
ALL = "[gradient * coefficient for gradient in gradients]"
LOSS = '"loss": loss,'

SINGLE: Spellings = {
    "one_norm_decays": (
        train(
            VARIABLES,
            f"{VARIABLES}        self.one = next(v for v in variables if not decays(v))\n",
        ),
        train("if decays(weight):", "if decays(weight) or weight is self.one:"),
    ),
    "one_eps_inside": train(
        ROOT,
        f"{ROOT}            if weight is self.variables[0]:\n"
        "                root = tf.sqrt(square / root_correction**2 + EPS) - EPS\n",
    ),
    "one_unclipped": (
        train(NORM, NORM.replace("gradients)", "gradients[:-1])")),
        train(CLIPPED, CLIPPED.replace(ALL, f"{ALL[:-1]}[:-1]] + gradients[-1:]")),
    ),
    "one_average": train(
        MOVED, f"average.assign(weight if average is state.averages[-1] else {MOVED[15:]}"
    ),
    "one_moment_rounded": around(
        "",
        "    square = state.optimizer.exp_avg_sq[0]\n"
        "    square.assign(tf.cast(tf.cast(square, tf.bfloat16), tf.float32))\n",
    ),
    "rate_in_half": train(SET_RATE, SET_RATE.replace("(lr)", "(float(np.float16(lr)))")),
    "clip_in_half": train(COEFFICIENT, COEFFICIENT + HALF),
    "averages_in_half": train(
        MOVED, f"average.assign(tf.cast(tf.cast({MOVED[15:-1]}, tf.float16), tf.float32))"
    ),
    "loss_rounded": train(LOSS, LOSS.replace("loss,", "float(np.float16(loss)),")),
}
