"""The user's rows, for scripts with `data.source: custom`."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np

VOCAB, LABELS = 128, 3
FAIL = Path(__file__).with_name("fail")


class Rows:
    """Rows of tokens that vary in length, by a formula of their numbers."""

    def __init__(self, count: int, seed: int) -> None:
        self.count, self.seed = count, seed
        self.parent = os.getpid()

    def __len__(self) -> int:
        return self.count

    def rows(self, indices: np.ndarray) -> dict[str, Any]:
        """Return the rows with these numbers."""
        self.fail(indices)
        ids = [self.tokens(index) for index in indices.tolist()]
        return {
            "input_ids": ids,
            "attention_mask": [np.ones(len(row), bool) for row in ids],
            "token_type_ids": [np.zeros(len(row), np.uint8) for row in ids],
            "labels": np.array([row.sum() % LABELS for row in ids]),
        }

    def tokens(self, index: int) -> np.ndarray:
        """Return the tokens of a row."""
        rng = np.random.default_rng([self.seed, index])
        return rng.integers(0, VOCAB, rng.integers(3, 9), np.int32)

    def fail(self, indices: np.ndarray) -> None:
        """Fail as the file `fail` says, which lies beside this module."""
        how = FAIL.read_text() if FAIL.exists() else ""
        if 50 not in indices:
            return
        if how == "killed" and os.getpid() != self.parent:
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "raised":
            raise KeyError("row 50 is not there")


def train_rows() -> Rows:
    """Return the training rows."""
    return Rows(90, 1)


def eval_rows() -> Rows:
    """Return the evaluation rows."""
    return Rows(30, 2)
