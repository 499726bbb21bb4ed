"""Bugs in the emitted optimizer of Paddle; some replace it by one written by hand."""

from __future__ import annotations

from textwrap import dedent

from crosscast.targets.harness import Edit
from mutants.paddle_window import both
from mutants.spelling import Spellings, spellings, train

RATE = "state.optimizer.set_lr(lr)"
FUNCTION = "apply_decay_param_fun=verdicts.get"
NORMS = "return not isinstance(layer, nn.LayerNorm)"
EPSILON = "        epsilon=EPS,\n"
MAKE = "def make_optimizer("
DECAY = "weight.set_value(weight * (1.0 - self.rate * WEIGHT_DECAY))"
MEAN = "mean.set_value(BETAS[0] * mean + (1.0 - BETAS[0]) * gradient)"
SQUARE = "square.set_value(BETAS[1] * square + (1.0 - BETAS[1]) * gradient * gradient)"
ROOT = "root = (square / (1.0 - BETAS[1] ** t)).sqrt() + EPS"
UPDATE = "update = mean / (1.0 - BETAS[0] ** t) / root"
BY_HAND = dedent(
    f'''
    class HandWritten:
        """AdamW without kernels of its own."""

        def __init__(self, parameters, decaying):
            self._parameter_list = list(parameters)
            self.decaying, self.rate, self.t = decaying, LEARNING_RATE, 0
            self.means = [paddle.zeros_like(p) for p in self._parameter_list]
            self.squares = [paddle.zeros_like(p) for p in self._parameter_list]

        def set_lr(self, rate):
            self.rate = rate

        @paddle.no_grad()
        def step(self):
            self.t += 1
            t = self.t
            moments = zip(self.means, self.squares)
            for weight, (mean, square) in zip(self._parameter_list, moments):
                gradient = weight.grad
                if gradient is None:
                    continue
                if self.decaying(weight.name):
                    {DECAY}
                {MEAN}
                {SQUARE}
                {ROOT}
                {UPDATE}
                weight.set_value(weight - self.rate * update)

        def clear_grad(self, set_to_zero=True):
            for weight in self._parameter_list:
                weight.clear_gradient(set_to_zero)

        def state_dict(self):
            return {{}}


    '''
).lstrip()
RETURN = """\
    return paddle.optimizer.AdamW(
        learning_rate=LEARNING_RATE,
        beta1=BETAS[0],
        beta2=BETAS[1],
        epsilon=EPS,
        parameters=model.parameters(),
        weight_decay=WEIGHT_DECAY,
        apply_decay_param_fun=verdicts.get,
    )
"""


def by_hand(*changes: tuple[str, str]) -> tuple[Edit, ...]:
    """Return edits that put in an AdamW written by hand, with some of its lines replaced.

    Raises:
        ValueError: The optimizer has no such line.
    """
    text = BY_HAND
    for old, new in changes:
        if old not in text:
            raise ValueError(old)
        text = text.replace(old, new)
    return (
        train(MAKE, text + MAKE),
        train(RETURN, "    return HandWritten(model.parameters(), verdicts.get)\n"),
    )


UPDATES: Spellings = {
    "eps_hat": train(
        f"    {RATE}\n",
        f"    {RATE}\n    correction = 1.0 - BETAS[1] ** (state.updates + 1)\n"
        "    state.optimizer._epsilon = EPS / correction**0.5\n",
    ),
    "eps_inside_sqrt": by_hand((ROOT, "root = (square / (1.0 - BETAS[1] ** t) + EPS).sqrt()")),
    "no_bias_corr": by_hand((ROOT, "root = square.sqrt() + EPS"), (UPDATE, "update = mean / root")),
    "l2_not_decoupled": (
        train("return paddle.optimizer.AdamW(", "return paddle.optimizer.Adam("),
        train(f"        {FUNCTION},\n", ""),
    ),
    "wd_on_all": train(FUNCTION, 'apply_decay_param_fun=lambda name: "bias" not in name'),
    # By the name within the layer, which Paddle does not ask for.
    "wd_zero": train("verdicts.setdefault(parameter.name,", "verdicts.setdefault(name,"),
    "wd_default": train("        weight_decay=WEIGHT_DECAY,\n", ""),
    "wd_on_layer_norm": train(NORMS, "return True"),
    "wd_not_on_embeddings": train(
        NORMS, NORMS.replace("nn.LayerNorm", "(nn.LayerNorm, nn.Embedding)")
    ),
    "wd_base_rate": by_hand((DECAY, DECAY.replace("self.rate", "LEARNING_RATE"))),
    "nesterov": by_hand(
        (UPDATE, UPDATE.replace("mean /", "(BETAS[0] * mean + (1.0 - BETAS[0]) * gradient) /"))
    ),
    "amsgrad": train(EPSILON, f"{EPSILON}        amsgrad=True,\n"),
    "bias_corr_per_micro": by_hand(("t = self.t\n", "t = self.t * SETTINGS.accumulation_steps\n")),
    "lazy_moments": by_hand(
        (
            MEAN,
            "seen = (gradient != 0).astype('float32')\n            "
            "mean.set_value(mean + seen * (1.0 - BETAS[0]) * (gradient - mean))",
        ),
        (
            SQUARE,
            "change = (1.0 - BETAS[1]) * (gradient * gradient - square)\n            "
            "square.set_value(square + seen * change)",
        ),
        (UPDATE, f"{UPDATE} * seen"),
    ),
    "moments_reset": spellings(
        *both(
            "    if state.windows == 16:\n"
            "        for slot in ('moment1', 'moment2'):\n"
            "            for moment in state.optimizer._accumulators[slot].values():\n"
            "                moment.zero_()\n"
        )
    ),
    "lr_not_set": train(f"    {RATE}\n", ""),
    "lr_one_late": train(RATE, "state.optimizer.set_lr(learning_rate(max(0, state.updates - 1)))"),
}
