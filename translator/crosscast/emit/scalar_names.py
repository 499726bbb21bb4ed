"""What the numbers of a run are called in tools that show runs, whoever writes them there."""

from __future__ import annotations

from collections.abc import Mapping

TRAIN_SCALARS: Mapping[str, str] = {
    "loss": "train/loss",
    "lr": "train/learning_rate",
    "grad_norm": "train/grad_norm",
    "scale": "train/loss_scale",
    "window": "train/window",
    "rows": "train/rows",
    "n_micro": "train/micro_batches",
    "tokens": "train/tokens",
    "peak_memory": "train/peak_memory",
}
"""Key of a row of trace.jsonl to its name, in the order in which they are shown."""
SKIPPED_WINDOWS = "train/skipped_windows"
"""Windows skipped so far: `window + 1 - updates`."""
EVAL_PREFIX = "eval/"
"""Before the names of what an evaluation in status.json found: `eval/loss`, `eval/ema_accuracy`."""
