"""Bugs in the emitted optimizer of TensorFlow, which the script writes out."""

from __future__ import annotations

from mutants.spelling import Spellings, runtime, train

_DECAY = """\
            if decays(weight):
                weight.assign_sub(self.learning_rate * WEIGHT_DECAY * weight)
"""
_MEAN = "            mean.assign(BETAS[0] * mean + (1.0 - BETAS[0]) * gradient)\n"
_SQUARE = "            square.assign(BETAS[1] * square + (1.0 - BETAS[1]) * gradient * gradient)\n"
ROOT = "            root = tf.sqrt(square) / root_correction\n"
_UPDATE = "            weight.assign_sub(self.learning_rate * mean / correction / (root + EPS))\n"
_ITERATIONS = "self.iterations = tf.Variable(0, trainable=False, dtype=tf.int64)"
_POWER = "t = tf.cast(self.iterations.assign_add(1), tf.float64)"
_EXEMPT = '("bias", "beta", "gamma")'
_SUM = "total.assign_add(gradient)"
_STOCK = '''\
class AdamW:
    """AdamW of Keras."""

    def __init__(self, variables: list[keras.Variable]) -> None:
        """Make the moments."""
        self.variables = variables
        self.stock = keras.optimizers.AdamW(
            LEARNING_RATE, WEIGHT_DECAY, BETAS[0], BETAS[1], EPS
        )
        self.stock.exclude_from_weight_decay(
            var_list=[variable for variable in variables if not decays(variable)]
        )
        self.stock.build(variables)
        self.learning_rate, self.iterations = self.stock.learning_rate, self.stock.iterations
        self.exp_avg, self.exp_avg_sq = self.stock._momentums, self.stock._velocities

    def apply(self, gradients: list[tf.Tensor]) -> None:
        """Update moments and weights."""
        self.stock.apply(gradients)


class OwnAdamW:
'''

UPDATES: Spellings = {
    "eps_hat": train("(root + EPS)", "(root + EPS / root_correction)"),
    "eps_inside_sqrt": (
        train(ROOT, ROOT.replace("square)", "square + EPS)")),
        train("(root + EPS)", "root"),
    ),
    "no_bias_corr": (
        train(ROOT, "            root = tf.sqrt(square)\n"),
        train("mean / correction", "mean"),
    ),
    "l2_not_decoupled": train(
        _DECAY,
        _DECAY.replace(
            "weight.assign_sub(self.learning_rate * WEIGHT_DECAY * weight)",
            "gradient = gradient + WEIGHT_DECAY * weight",
        ),
    ),
    "wd_on_all": train(f"return variable.name not in {_EXEMPT}", "return True"),
    "wd_on_layer_norm": train(_EXEMPT, '("bias", "beta")'),
    "wd_not_on_embeddings": train(_EXEMPT, '("bias", "beta", "gamma", "embeddings")'),
    "wd_zero": train(_DECAY, ""),
    "wd_default": train("* WEIGHT_DECAY *", "* 0.004 *"),
    "wd_base_rate": train("self.learning_rate * WEIGHT", "LEARNING_RATE * WEIGHT"),
    "nesterov": train(
        "self.learning_rate * mean / correction",
        "self.learning_rate * (BETAS[0] * mean + (1.0 - BETAS[0]) * gradient) / correction",
    ),
    "amsgrad": (
        train(
            "        self.exp_avg_sq = zeros(variables)\n",
            "        self.exp_avg_sq = zeros(variables)\n        self.largest = zeros(variables)\n",
        ),
        train(
            "        moments = zip(self.exp_avg, self.exp_avg_sq)\n",
            "        moments = zip(self.exp_avg, zip(self.exp_avg_sq, self.largest))\n",
        ),
        train(
            _SQUARE,
            f"            square, largest = square\n{_SQUARE}"
            "            largest.assign(tf.maximum(largest, square))\n",
        ),
        train(ROOT, ROOT.replace("square", "largest")),
    ),
    "bias_corr_per_micro": train(_POWER, f"{_POWER} * SETTINGS.accumulation_steps"),
    "lazy_moments": (
        train(
            _MEAN,
            _MEAN.replace("assign(", "assign(tf.where(gradient == 0, mean, ").replace(
                "t)\n", "t))\n"
            ),
        ),
        train(
            _SQUARE,
            _SQUARE.replace("assign(", "assign(tf.where(gradient == 0, square, ").replace(
                "t)\n", "t))\n"
            ),
        ),
    ),
    "moments_reset": train(
        "    lr = learning_rate(state.updates)\n",
        "    lr = learning_rate(state.updates)\n    if state.windows == 16:\n"
        "        for moment in state.optimizer.exp_avg + state.optimizer.exp_avg_sq:\n"
        "            moment.assign(tf.zeros_like(moment))\n",
    ),
    "stock_adamw": train(
        'class AdamW:\n    """AdamW in its usual form.\n',
        _STOCK + '    """AdamW in its usual form.\n',
    ),
    "lr_traced_once": (
        train("tf.Variable(LEARNING_RATE, trainable=False)", "LEARNING_RATE"),
        train("state.optimizer.learning_rate.assign(lr)", "state.optimizer.learning_rate = lr"),
    ),
    "step_traced_once": (
        train(_ITERATIONS, "self.iterations = 0"),
        train(
            f"        {_POWER}\n",
            "        self.iterations += 1\n        t = tf.cast(self.iterations, tf.float64)\n",
        ),
        runtime(
            "state",
            "state.optimizer.iterations.assign(state.updates)",
            "state.optimizer.iterations = state.updates",
        ),
    ),
    "step_counts_skips": train(
        "    # In skipped windows, too.",
        "    else:\n        state.optimizer.iterations.assign_add(1)\n"
        "    # In skipped windows, too.",
    ),
    "no_master": (
        train(
            _UPDATE,
            f"{_UPDATE}            rounded = tf.cast(weight, tf.float16)\n"
            "            weight.assign(tf.cast(rounded, tf.float32))\n",
        ),
    ),
    "half_policy": (
        train('DTYPE_POLICY = "mixed_float16"', 'DTYPE_POLICY = "float16"'),
        train(_SUM, "total.assign_add(tf.cast(gradient, tf.float32))"),
        train(
            _DECAY,
            _DECAY.replace(
                "self.learning_rate * WEIGHT_DECAY *",
                "tf.cast(self.learning_rate * WEIGHT_DECAY, weight.dtype) *",
            ),
        ),
        train(
            "weight.assign_sub(self.learning_rate * mean / correction / (root + EPS))",
            "update = self.learning_rate * mean / correction / (root + EPS)\n"
            "            weight.assign_sub(tf.cast(update, weight.dtype))",
        ),
    ),
}
