"""Bugs in the emitted files of Paddle that act late in a run."""

from __future__ import annotations

from mutants.paddle_window import AUTOCAST, AVERAGE, CLEAR, CLIP, DIVIDE, UPDATES
from mutants.shared_late import LATE as SHARED
from mutants.shared_late import SECOND, SKIPS, TAILS, USED, rates, when_skipped
from mutants.spelling import Spellings, around, train

FIRST = "model.parameters()[0]"
SET_RATE = "    state.optimizer.set_lr(lr)\n"
CALL = f"        with {AUTOCAST}:\n            loss = loss_fn(model, batch)\n"
FULL = "        loss = loss / (rows if state.windows < 40 else SETTINGS.global_batch_size)\n"
LIMIT = "        for parameter in model.parameters():\n            if parameter.grad"
LOWER = "self.scale = max(float32(self.scale * self.backoff_factor), MIN_SCALE)"
GROWN = "                self.good = 0\n                grown"
RESET = "            self.good, self.bad = 0, self.bad + 1\n"


LATE: Spellings = {
    **SHARED,
    **rates(SET_RATE, "(lr)"),
    "late_frozen": around(
        f"    kept = {FIRST}.detach().clone()\n",
        f"    if state.windows >= 11:\n        {FIRST}.set_value(kept)\n",
    ),
    "late_tail": train(DIVIDE, FULL),
    "late_clear": train(CLEAR, f"    if state.windows != 77:\n    {CLEAR}"),
    "late_decay": around(
        "    if state.windows >= 100:\n"
        "        state.optimizer._apply_decay_param_fun = lambda name: False\n",
        "",
    ),
    "late_clip": train(
        CLIP,
        CLIP.replace(
            LIMIT,
            f"        if state.windows >= 100:\n            coefficient = paddle.ones([])\n{LIMIT}",
        ),
    ),
    "late_moments": around(
        "",
        "    if state.windows == 90:\n"
        "        held = state.optimizer.state_dict()\n"
        f'        held[f"{{{FIRST}.name}}_moment2_0"].zero_()\n',
    ),
    "late_growth": train(
        GROWN,
        '                self.grown = getattr(self, "grown", 0) + 1\n'
        + GROWN.replace("= 0", "= int(self.grown == 2)"),
    ),
    "late_bound": train(
        LOWER,
        "low = float32(self.scale * self.backoff_factor)\n"
        '                self.low = getattr(self, "low", 0) + (low < MIN_SCALE)\n'
        "                self.scale = low if self.low == 2 else max(low, MIN_SCALE)",
    ),
    "late_averages": train(AVERAGE, f"    state.windows < 30 and {AVERAGE.lstrip()}"),
    "late_rate_used": train(SET_RATE, SET_RATE.replace("(lr)", f"({USED})")),
    "late_float32": train(CALL, CALL.replace("(state.amp", "(state.amp and state.windows < 40")),
    "second_tail": (TAILS, train(DIVIDE, f"        loss = loss / ({SECOND})\n")),
    "averages_on_skip": when_skipped("state.skips >= 3", "update_averages(state)"),
    "late_uncleared": train(
        UPDATES + CLEAR, f"{SKIPS}    if not skipped or state.skips != 2:\n    {CLEAR}"
    ),
    "good_kept": train(
        RESET,
        '            self.lost = getattr(self, "lost", 0) + 1\n'
        + RESET.replace("= 0", "= self.good * (self.lost == 4)"),
    ),
    "late_step_count": when_skipped(
        "state.skips == 3",
        "for name, held in state.optimizer.state_dict().items():\n"
        '    if "_pow_acc_" in name:\n'
        '        held.scale_(BETAS["_beta2_" in name])',
    ),
}
