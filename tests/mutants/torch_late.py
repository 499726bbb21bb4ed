"""Bugs in the emitted files of PyTorch that act late in a run."""

from __future__ import annotations

from mutants.shared_late import LATE as SHARED
from mutants.shared_late import SECOND, SKIPS, TAILS, UPDATES, USED, rates, when_skipped
from mutants.spelling import Spellings, around, train
from mutants.torch_update import RATES
from mutants.torch_window import AUTOCAST, AVERAGE, CLEAR, CLIP, DIVIDE, INF, SKIPPED, UPDATE

FIRST = "next(model.parameters())"
FLOOR = "    if new_scale < MIN_SCALE:\n"
CALL = f"        with {AUTOCAST}:\n            loss = loss_fn(model, batch)\n"
FULL = "        loss = loss / (rows if state.windows < 40 else SETTINGS.global_batch_size)\n"


LATE: Spellings = {
    **SHARED,
    **rates(RATES, "= lr"),
    "late_frozen": around(
        f"    kept = {FIRST}.detach().clone()\n",
        f"    if state.windows >= 11:\n        {FIRST}.data.copy_(kept)\n",
    ),
    "late_tail": train(DIVIDE, FULL),
    "late_clear": train(CLEAR, f"    if state.windows != 77:\n    {CLEAR}"),
    "late_decay": train(
        RATES, f'{RATES}        if state.windows >= 100:\n            group["weight_decay"] = 0.0\n'
    ),
    "late_clip": train(
        CLIP, CLIP.replace("MAX_NORM", f"MAX_NORM if state.windows < 100 else {INF}")
    ),
    "late_moments": around(
        "",
        "    if state.windows == 90:\n"
        f'        state.optimizer.state[{FIRST}]["exp_avg_sq"].zero_()\n',
    ),
    "late_growth": train(
        SKIPPED,
        f'{SKIPPED}    state.grown = getattr(state, "grown", 0) + (new_scale > scale)\n'
        "    if new_scale > scale and state.grown == 2:\n"
        '        saved = state.scaler.state_dict() | {"_growth_tracker": 1}\n'
        "        state.scaler.load_state_dict(saved)\n",
    ),
    "late_bound": train(
        FLOOR,
        '    state.low = getattr(state, "low", 0) + (new_scale < MIN_SCALE)\n'
        "    if new_scale < MIN_SCALE and state.low != 2:\n",
    ),
    "late_averages": train(AVERAGE, f"    state.windows < 30 and {AVERAGE.lstrip()}"),
    "late_rate_used": train(RATES, RATES.replace("= lr", f"= {USED}")),
    "late_float32": train(
        CALL, CALL.replace(AUTOCAST, f"{AUTOCAST[:-1]}, enabled=state.windows < 40)")
    ),
    "second_tail": (TAILS, train(DIVIDE, f"        loss = loss / ({SECOND})\n")),
    "averages_on_skip": when_skipped("state.skips >= 3", "update_averages(state)"),
    "late_uncleared": train(
        UPDATES + CLEAR, f"{SKIPS}    if not skipped or state.skips != 2:\n    {CLEAR}"
    ),
    "good_kept": (
        train(UPDATE, f'    good = state.scaler.state_dict()["_growth_tracker"]\n{UPDATE}'),
        train(
            UPDATES,
            f"{SKIPS}    if skipped and state.skips == 4:\n"
            '        saved = state.scaler.state_dict() | {"_growth_tracker": good}\n'
            "        state.scaler.load_state_dict(saved)\n",
        ),
    ),
    "late_step_count": when_skipped(
        "state.skips == 3", 'for own in state.optimizer.state.values():\n    own["step"] += 1'
    ),
}
