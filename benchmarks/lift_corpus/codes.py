"""Which labelled defects a code of lint may mean. Codes that are missing here match nothing."""

from __future__ import annotations

AUDITED = frozenset(
    {
        *("CLIP_BEFORE_UNSCALE", "CLIP_PER_MICRO", "CLIP_NOT_APPLIED", "NO_LOSS_DIV"),
        *("ACCUM_NOT_WIRED", "ACCUM_NEVER_STEPS", "OFF_BY_ONE_WINDOW", "TAIL_LEAK"),
        *("APEX_ACCUM_NO_SYNC_WITHOUT_DELAY", "SCALER_RECREATED", "SCALER_UPDATE_PER_OPT"),
        *("SCALER_UPDATE_PER_MICRO", "OPTIMIZER_NOT_STEPPED", "DOUBLE_STEP"),
        *("LOSS_SCALE_MISSING", "BF16_WITH_SCALER", "BACKWARD_IN_AUTOCAST"),
        *("SCHED_BEFORE_OPT", "SYNTAX_ERROR"),
    }
)
"""Every file was checked for these: a finding that is not labelled is a false alarm."""

MEANS: dict[str, tuple[str, ...]] = {
    "CL101": ("NO_LOSS_DIV",),
    "CL102": ("ACCUM_WEIGHTS_WRONG",),
    "CL103": ("TAIL_SCALE",),
    "CL104": ("OFF_BY_ONE_WINDOW",),
    "CL105": ("TAIL_LEAK",),
    "CL106": ("TAIL_DROP",),
    "CL109": ("ACCUM_NOT_WIRED",),
    "CL110": ("ACCUM_NEVER_STEPS",),
    "CL111": ("DOUBLE_STEP",),
    "CL112": ("ACCUM_WEIGHTS_WRONG",),
    "CL113": ("ACCUM_NOT_WIRED",),
    "CL115": ("EMA_PER_MICRO",),
    "CL116": ("ACCUM_WEIGHTS_WRONG",),
    "CL117": ("WINDOW_MISALIGNED",),
    "CL201": ("SCALER_UPDATE_PER_MICRO",),
    "CL203": ("SCALER_UPDATE_PER_OPT",),
    "CL206": ("LOSS_SCALE_MISSING",),
    "CL207": ("BF16_WITH_SCALER",),
    "CL209": ("SCALER_RECREATED",),
    "CL210": ("SCALER_NOT_SAVED",),
    "CL212": ("BAD_INIT_SCALE",),
    "CL213": ("APEX_ACCUM_NO_SYNC_WITHOUT_DELAY",),
    "CL215": ("OPTIMIZER_NOT_STEPPED",),
    "CL301": ("CLIP_BEFORE_UNSCALE",),
    "CL302": ("CLIP_BEFORE_UNSCALE",),
    "CL303": ("CLIP_PER_MICRO",),
    "CL304": ("CLIP_NOT_APPLIED",),
    "CL305": ("CLIP_THRESHOLD_SCALED",),
    "CL306": ("CLIP_MISSING_BRANCH",),
    "CL308": ("CLIP_BEFORE_UNSCALE",),
    "CL309": ("CLIP_ZERO_TRAP",),
    "CL401": ("BACKWARD_IN_AUTOCAST",),
    "CL501": ("SCHED_BEFORE_OPT",),
    "CL502": ("SCHED_PER_MICRO",),
    "CL503": ("SCHED_LENGTH_MISMATCH",),
    "CL504": ("SCHED_ON_SKIP",),
    "CL505": ("SCHED_LENGTH_MISMATCH",),
    "CL506": ("DECAY_INVERTED",),
    "CL601": ("NO_SYNC_MISSING",),
    "CL908": ("SYNTAX_ERROR",),
    "CL910": ("ARGPARSE_BOOL",),
    "CL911": ("DUPLICATE_FLAG",),
    "CL912": ("DEAD_FLAG",),
    "CL708": ("LOSS_SCALE_MISSING",),
    "CL712": ("CLIP_BEFORE_UNSCALE",),
    "CL802": ("LOSS_SCALE_MISSING",),
    "CL803": ("LOSS_SCALE_MISSING",),
    "CL804": ("LOSS_SCALE_MISSING",),
    "CL805": ("LOSS_SCALE_MISSING",),
}
"""A code that is missing here matches nothing."""
