"""Bugs of PyTorch in one tensor, and in data types of single values."""

from __future__ import annotations

from mutants.spelling import Spellings, around, train
from mutants.torch_late import FIRST
from mutants.torch_update import RATES, ROOT, by_hand
from mutants.torch_window import CLIP, NORM_ONLY

GROUPS = "    groups = [\n"
MOVED = "        average.mul_(EMA_DECAY).add_(weight, alpha=1.0 - EMA_DECAY)\n"
FETCHED = "([window_loss"
CLIP_BY_HAND = (
    f"{NORM_ONLY}    factor = (MAX_NORM / (grad_norm + 1e-6)).clamp(max=1.0)\n"
    "    for parameter in model.parameters():\n"
    "        if parameter.grad is not None:\n"
    "            parameter.grad.mul_(factor)\n"
)
CORRECTED = "square / (1.0 - BETAS[1] ** t)"

SINGLE: Spellings = {
    "one_norm_decays": train(
        GROUPS, f"    decay[next(p for p, d in decay.items() if not d)] = WEIGHT_DECAY\n{GROUPS}"
    ),
    "one_eps_inside": by_hand(
        (
            ROOT,
            f"first = weight is self.param_groups[0]['params'][0]\n                {ROOT}\n"
            f"                root = ({CORRECTED} + EPS).sqrt() if first else root",
        )
    ),
    "one_unclipped": train(
        CLIP, CLIP.replace("model.parameters()", "list(model.parameters())[:-1]")
    ),
    "one_average": train(MOVED, f"{MOVED}    average.copy_(weight)\n"),
    "one_moment_rounded": around(
        "",
        f"    own = state.optimizer.state.get({FIRST})\n"
        "    if own:\n"
        '        own["exp_avg_sq"].copy_(own["exp_avg_sq"].bfloat16())\n',
    ),
    "rate_in_half": train(RATES, RATES.replace("= lr", "= float(torch.tensor(lr).half())")),
    "clip_in_half": train(CLIP, CLIP_BY_HAND.replace("(factor)", "(factor.half().float())")),
    "averages_in_half": train(MOVED, f"{MOVED}        average.copy_(average.half())\n"),
    "loss_rounded": train(FETCHED, f"{FETCHED}.half()"),
}
