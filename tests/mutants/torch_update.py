"""Bugs in the emitted optimizer of PyTorch; some replace it by one written by hand."""

from __future__ import annotations

from textwrap import dedent

from crosscast.targets.harness import Edit
from mutants.spelling import Spellings, spellings, train
from mutants.torch_window import PLAIN_STEP, STEP

OWN = "own = WEIGHT_DECAY if decays(module, name) else 0.0"
RATES = '    for group in state.optimizer.param_groups:\n        group["lr"] = lr\n'
NORMS = "(nn.LayerNorm, nn.RMSNorm)"
DECAY = 'weight.mul_(1.0 - group["lr"] * group["weight_decay"])'
MEAN = "mean.lerp_(gradient, 1.0 - BETAS[0])"
SQUARE = "square.mul_(BETAS[1]).addcmul_(gradient, gradient, value=1.0 - BETAS[1])"
ROOT = "root = (square / (1.0 - BETAS[1] ** t)).sqrt() + EPS"
UPDATE = "update = mean / (1.0 - BETAS[0] ** t) / root"
BY_HAND = dedent(
    f"""
    class HandWritten(torch.optim.Optimizer):
        def __init__(self, groups, lr, betas, eps, fused):
            super().__init__(groups, {{"lr": lr}})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for weight in group["params"]:
                    gradient, own = weight.grad, self.state[weight]
                    if not own:
                        own["step"] = 0
                        own["exp_avg"] = torch.zeros_like(weight)
                        own["exp_avg_sq"] = torch.zeros_like(weight)
                    own["step"] += 1
                    t, mean, square = int(own["step"]), own["exp_avg"], own["exp_avg_sq"]
                    {DECAY}
                    {MEAN}
                    {SQUARE}
                    {ROOT}
                    {UPDATE}
                    weight.sub_(group["lr"] * update)


    """
).lstrip()
MAKE = "def make_optimizer("


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
    return (train(MAKE, text + MAKE), train("return torch.optim.AdamW(", "return HandWritten("))


def before_step(statements: str) -> tuple[Edit, Edit]:
    """Return the two spellings of statements before the optimizer's step."""
    return train(STEP, statements + STEP), train(PLAIN_STEP, statements + PLAIN_STEP)


def after_step(statements: str) -> tuple[Edit, Edit]:
    """Return the two spellings of statements behind the optimizer's step."""
    return train(STEP, STEP + statements), train(PLAIN_STEP, PLAIN_STEP + statements)


UPDATES: Spellings = {
    "eps_hat": train(
        RATES,
        f"{RATES}        correction = 1.0 - BETAS[1] ** (state.updates + 1)\n"
        '        group["eps"] = EPS / correction**0.5\n',
    ),
    "eps_inside_sqrt": by_hand((ROOT, "root = (square / (1.0 - BETAS[1] ** t) + EPS).sqrt()")),
    "no_bias_corr": by_hand((ROOT, "root = square.sqrt() + EPS"), (UPDATE, "update = mean / root")),
    "l2_not_decoupled": train("torch.optim.AdamW(", "torch.optim.Adam("),
    "wd_on_all": train(OWN, "own = WEIGHT_DECAY"),
    "wd_zero": train(OWN, "own = 0.0"),
    "wd_on_layer_norm": train(f"return not isinstance(module, {NORMS})", "return True"),
    "wd_not_on_embeddings": train(NORMS, f"{NORMS[:-1]}, nn.Embedding)"),
    "wd_base_rate": by_hand((DECAY, DECAY.replace('group["lr"]', "LEARNING_RATE"))),
    "nesterov": by_hand((UPDATE, UPDATE.replace("mean", "mean.lerp(gradient, 1.0 - BETAS[0])"))),
    "amsgrad": train("        eps=EPS,\n", "        eps=EPS,\n        amsgrad=True,\n"),
    "bias_corr_per_micro": spellings(
        *after_step(
            '    for own in state.optimizer.state.values():\n        own["step"] += n_micro - 1\n'
        )
    ),
    "lazy_moments": by_hand(
        (
            MEAN,
            "seen = gradient.ne(0).float()\n                "
            "mean.lerp_(gradient, (1.0 - BETAS[0]) * seen)",
        ),
        (SQUARE, SQUARE.replace("BETAS[1])", "BETAS[1] ** seen)", 1)),
        (UPDATE, f"{UPDATE} * seen"),
    ),
    "moments_reset": spellings(
        *before_step("    if state.windows == 16:\n        state.optimizer.state.clear()\n")
    ),
    "lr_not_set": train(RATES, ""),
    "lr_one_late": train(
        RATES, RATES.replace("= lr", "= learning_rate(max(0, state.updates - 1))")
    ),
}
