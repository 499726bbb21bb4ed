"""Bugs after a resume, in lines that are the same in most scripts, as in `shared_bugs`."""

from __future__ import annotations

from mutants.shared_products import MOMENTS
from mutants.spelling import Spellings, runtime

SCALER = "restore_scaler(state, counters)\n"
COUNTS = 'state.windows, state.updates = counters["windows"], counters["updates"]'
AVERAGES = 'restore_ema(state, part_of(arrays, "ema/"))'
STATUS = '"windows": state.windows, "updates": state.updates}'
FIRST_SCALE = SCALER.replace("counters)", 'counters | {"scale": scaler_counters(state)["scale"]})')
CUT = "(array.view(np.uint32) & 0xFFFF0000).view(np.float32)"


def averages(condition: str) -> str:
    """Return what restores the averages, but those that a condition on `n` holds for."""
    weights = f'part_of(arrays, "model/").items() if {condition}'
    return AVERAGES.replace('"ema/")', f'"ema/") | {{n: a for n, a in {weights}}}')


RESUMED: Spellings = {
    "resumed_growth_lost": runtime(
        "state", 'counters["scale"], counters["good"]\n', 'counters["scale"], 0\n'
    ),
    "resumed_stuck_lost": runtime("run", 'self.stuck = counters.get("stuck", 0)', "self.stuck = 0"),
    "resumed_scale_first": runtime("checkpoint", SCALER, FIRST_SCALE),
    "resumed_all_updates": runtime(
        "checkpoint", COUNTS, COUNTS.replace('["updates"]', '["windows"]')
    ),
    "resumed_norm_averages": runtime("checkpoint", AVERAGES, averages('"LayerNorm" in n')),
    "resumed_head_averages": runtime(
        "checkpoint", AVERAGES, averages('n.startswith("classifier.")')
    ),
    "resumed_one_average": runtime(
        "checkpoint", AVERAGES, averages('n == "bert.pooler.dense.bias"')
    ),
    "checkpoint_half_moments": runtime(
        "checkpoint", MOMENTS, MOMENTS.replace(": array for", ": np.float32(np.float16(array)) for")
    ),
    "checkpoint_half_squares": runtime(
        "checkpoint",
        MOMENTS,
        MOMENTS.replace(": array for", f': {CUT} if "_sq/" in name else array for'),
    ),
    "status_all_updates": runtime("run", STATUS, STATUS.replace("state.updates", "state.windows")),
}
