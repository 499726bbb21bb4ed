"""Bugs that act late, in lines that are the same in the scripts of every framework."""

from __future__ import annotations

from collections.abc import Mapping

from crosscast.targets.harness import Edit
from mutants.shared_bugs import ORDER, PROGRESS
from mutants.spelling import BEGIN, Spellings, runtime, train

UPDATES = "    state.updates += not skipped\n"
CAUSES: Mapping[str, str] = {
    "late_step": "fits optimizer.learning_rate: 0.002, but for lr in the trace, from window ",
    "late_frozen": "fits kernel at rest, from window ",
    "late_tail": "fits accumulation.tail: flush, in every short window from window ",
    "late_clear": "fits gradients of the window before that were not cleared, only in window ",
    "late_decay": "fits no decay, from window ",
    "late_clip": "fits clipping.kind: none, from window ",
    "late_moments": "fits exp_avg_sq/kernel set to zero, only in window ",
    "late_rate": "fits a schedule that goes on after its last step, from window ",
    "late_last": "fits optimizer.learning_rate: 0.002, but for lr in the trace, only in window ",
    "late_skip": "fits an overflow counted as an update, only in window ",
    "late_growth": "no known mistake fits; it differs only in window ",
    "late_bound": "fits loss_scaling.min_scale: ",
}
"""How the cause begins that the toy gives to each of these bugs, in every framework."""
SKIPS = f'    state.skips = getattr(state, "skips", 0) + skipped\n{UPDATES}'
"""Counts the skipped windows as well."""
USED = "learning_rate(state.updates - (state.updates > WARMUP_STEPS))"
"""The rate, but after the warm-up that of the window before."""
TAILS = train(
    BEGIN,
    f"{BEGIN}    full = SETTINGS.global_batch_size\n"
    '    state.tails = getattr(state, "tails", 0) + (rows < full)\n',
)
SECOND = "full if rows < full and state.tails == 2 else rows"
"""What a loss is divided by if the second short window counts as a full one, after `TAILS`."""

LATE: Spellings = {
    "late_rate": train(PROGRESS, PROGRESS.replace("min(1.0, ", "1.0 * (")),
    "late_skip": train(UPDATES, SKIPS.replace("not skipped", "not skipped or state.skips == 4")),
    "late_order": runtime("rows", ORDER, ORDER.replace("epoch,", "min(epoch, 9),")),
    "decay_one_late": train(
        PROGRESS,
        PROGRESS.replace("(position - WARMUP_STEPS) /", "max(0, position - 1 - WARMUP_STEPS) /"),
    ),
    "updates_wrap": train(UPDATES, "    state.updates = (state.updates + (not skipped)) % 128\n"),
}


def rates(old: str, rate: str) -> Spellings:
    """Return bugs that double the optimizer's rate in some windows, and not the reported one."""
    doubled = {
        "late_step": "state.windows >= 9",
        "late_drift": "0.01 * (state.windows >= 40)",
        "late_last": "state.windows == SETTINGS.windows - 1",
    }
    return {
        name: train(old, old.replace(rate, rate.replace("lr", f"lr * (1 + ({when}))")))
        for name, when in doubled.items()
    }


def when_skipped(condition: str, statements: str) -> Edit:
    """Return a bug that does more in some skipped windows, which `state.skips` counts from 1."""
    lines = "".join(f"        {line}\n" for line in statements.splitlines())
    return train(UPDATES, f"{SKIPS}    if skipped and {condition}:\n{lines}")
