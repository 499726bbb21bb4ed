"""What the numbers of a run are called in tools that show runs, whoever writes them there.

Their step is the number of the window, counted from 1.
"""

from __future__ import annotations

from collections.abc import Mapping

TRAIN_SCALARS: Mapping[str, str] = {
    "loss": "train/loss",
    "lr": "train/lr",
    "grad_norm": "train/grad_norm",
    "scale": "train/scale",
    "skipped": "train/skipped",
    "updates": "train/updates",
    "rows": "train/rows",
    "n_micro": "train/n_micro",
    "tokens": "train/tokens",
    "peak_memory": "train/peak_memory",
}
"""Key of a row of trace.jsonl to its name, in the order in which they are shown."""
EVAL_PREFIX = "eval/"
"""Before the names of what an evaluation in status.json found: `eval/loss`, `eval/ema_accuracy`."""
