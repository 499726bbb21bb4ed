"""Losses of emitted scripts beside those of every row: `run_half_losses_torch.py FOLDER...`.

The model is a table of logits. JSON by folder: `loss` of a micro-batch, `evaluate`, and `rows`, the
cross-entropy of each row alone in the type of the script's losses.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

# isort: split
from crosscast_parity.inside.script import load_script

ROWS = 64
LOGITS = torch.from_numpy(np.random.default_rng(0).normal(0.0, 20.0, (ROWS, 3)).astype("f4"))


class Table(nn.Module):  # type: ignore[misc]
    def forward(self, input_ids: torch.Tensor, **others: torch.Tensor) -> torch.Tensor:
        return LOGITS[input_ids[:, 0].long()]


def report(folder: Path) -> dict[str, Any]:
    train: Any = load_script(folder / "train.py")
    ids = np.arange(ROWS, dtype=np.int32)
    rows = dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), ids[:, None])
    rows["labels"] = ids % 3
    batch = {name: torch.from_numpy(array) for name, array in rows.items()}
    state = train.TrainState(Table(), None, torch.device("cpu"))
    each = [F.cross_entropy(LOGITS[i].bfloat16(), torch.tensor(i % 3)).item() for i in range(ROWS)]
    loss = train.micro_batch_loss(state.model, batch)
    assert loss.dtype == torch.float32
    return {"loss": loss.item(), "evaluate": train.evaluate(state, [rows])["loss"], "rows": each}


def main(folders: list[str]) -> None:
    torch.set_num_threads(1)
    print(json.dumps({folder: report(Path(folder)) for folder in folders}))


if __name__ == "__main__":
    main(sys.argv[1:])
