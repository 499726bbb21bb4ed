"""What programs share that train emitted scripts in several processes: rows and windows."""

from __future__ import annotations

import numpy as np

WINDOWS = 4
ROWS = 44


def data() -> dict[str, np.ndarray]:
    """Rows that a tiny model can learn something from."""
    ids = np.random.default_rng(0).integers(4, 128, (ROWS, 8)).astype(np.int32)
    ones = np.ones_like(ids)
    return {
        "input_ids": ids,
        "attention_mask": ones,
        "token_type_ids": ones * 0,
        "labels": ids[:, 0] % 3,
    }
