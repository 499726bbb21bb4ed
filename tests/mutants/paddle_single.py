"""Bugs of Paddle in one tensor, and in data types of single values."""

from __future__ import annotations

from mutants.paddle_late import FIRST, SET_RATE
from mutants.paddle_window import CLIP, NORM, both
from mutants.spelling import Spellings, around, spellings, train

RETURN = "    return paddle.optimizer.AdamW(\n"
MOVED = "        average.scale_(EMA_DECAY).add_((1 - EMA_DECAY) * weights[name])\n"
COEFFICIENT = "coefficient = paddle.clip(MAX_NORM / (grad_norm + CLIP_EPS), max=1.0)"
FETCHED = "paddle.stack([window_loss"
AGAIN = f"""\
    if (kept != {FIRST}).any():
        own, t = state.optimizer.state_dict(), state.updates + 1
        mean, square = (own[f"{{{FIRST}.name}}_{{slot}}"] for slot in ("moment1_0", "moment2_0"))
        root = (square / (1.0 - BETAS[1] ** t) + EPS).sqrt()
        step = mean / (1.0 - BETAS[0] ** t) / root + WEIGHT_DECAY * kept
        {FIRST}.set_value(kept - lr * step)
"""
"""The step of a tensor that decays, from the moments and the weight before."""

SINGLE: Spellings = {
    "one_norm_decays": train(
        RETURN, f"    verdicts[next(n for n, d in verdicts.items() if not d)] = True\n{RETURN}"
    ),
    "one_eps_inside": spellings(*both(f"    kept = {FIRST}.detach().clone()\n", AGAIN)),
    "one_unclipped": train(
        NORM + CLIP, (NORM + CLIP).replace("model.parameters()", "model.parameters()[:-1]")
    ),
    "one_average": train(MOVED, f"{MOVED}    average.set_value(weights[name])\n"),
    "one_moment_rounded": around(
        "",
        f'    square = state.optimizer.state_dict().get(f"{{{FIRST}.name}}_moment2_0")\n'
        "    if square is not None:\n"
        '        square.set_value(square.astype("bfloat16").astype("float32"))\n',
    ),
    "rate_in_half": train(
        SET_RATE, SET_RATE.replace("(lr)", "(float(paddle.to_tensor(lr).astype('float16')))")
    ),
    "clip_in_half": train(
        CLIP, CLIP.replace(COEFFICIENT, f'{COEFFICIENT}.astype("float16").astype("float32")')
    ),
    "averages_in_half": train(
        MOVED, f'{MOVED}        average.set_value(average.astype("float16").astype("float32"))\n'
    ),
    "loss_rounded": train(FETCHED, f'{FETCHED}.astype("float16").astype("float32")'),
}
