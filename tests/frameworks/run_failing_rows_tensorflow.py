"""Rows fail in a thread of tf.data: `run_failing_rows_tensorflow.py TRAIN_PY`.

Prints as JSON the error, and how many iterators of tf.data are alive while somebody holds it.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from pathlib import Path

os.environ["CROSSCAST_FORK_FREES"] = "1"
sys.path.insert(0, str(Path(sys.argv[1]).parent))

import numpy as np
from runtime.loader import load
from tensorflow.python.data.ops.iterator_ops import OwnedIterator


class Rows:
    """Four rows, of which the last cannot be read."""

    def __len__(self) -> int:
        return 4

    def rows(self, indices: np.ndarray) -> dict[str, np.ndarray]:
        if 3 in indices:
            raise KeyError("row 3 is not there")
        return {"x": indices.astype(np.float32)}


gc.disable()
found, held = 0, None
try:
    for _ in load(Rows(), iter(np.arange(4)[:, None]), 2):
        found += 1
except Exception as error:
    held = error
alive = sum(isinstance(each, OwnedIterator) for each in gc.get_objects())
print(json.dumps({"rows": found, "error": repr(held), "iterators": alive}))
