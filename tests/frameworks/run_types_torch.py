"""Prints in which types an emitted model computes: `run_types_torch.py FOLDER...`.

For each folder with model.py and train.py, on the CPU and on a GPU that need not exist: its tensors
are fake, but autocast decides about their types as about real ones. JSON: folder, then device, then
operation to the sorted names of the types that its results had, in the forward pass and the loss.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.cuda.amp import common

# isort: split
from crosscast_parity.inside.script import load_script
from frameworks.run_model_torch import Recorder

OPERATIONS = (
    "cross_entropy",
    "dropout",
    "gelu",
    "layer_norm",
    "linear",
    "matmul",
    "softmax",
    "tanh",
)


def types(folder: Path, device: str) -> dict[str, list[str]]:
    train: Any = load_script(folder / "train.py")
    with torch.device(device):
        model = train.build_model().train()
    train.make_optimizer(model)  # which turns weights to half, should the recipe say so
    model.requires_grad_(False)
    rows = {
        name: torch.ones((4, 8), dtype=torch.int32, device=device)
        for name in ("input_ids", "attention_mask", "token_type_ids")
    }
    batch = rows | {"labels": torch.zeros(4, dtype=torch.int32, device=device)}
    autocast = "with torch.autocast(" in (folder / "train.py").read_text()
    context = torch.autocast(device, dtype=torch.float16, enabled=autocast)
    with Recorder() as recorder, torch.no_grad(), context:
        train.micro_batch_loss(model, batch)
        lookup = model.bert.embeddings.word_embeddings(batch["input_ids"])
    found = {name: sorted(recorder.found[name]) for name in OPERATIONS}
    return found | {"lookup": [str(lookup.dtype).removeprefix("torch.")]}


def main(folders: list[str]) -> None:
    common.amp_definitely_not_available = lambda: False
    # A GPU that is not there draws no random numbers.
    for name in ("kaiming_uniform_", "normal_", "uniform_"):
        setattr(torch.nn.init, name, lambda tensor, *args, **kwargs: tensor)
    found: dict[str, dict[str, dict[str, list[str]]]] = {}
    for folder in folders:
        on_cpu = types(Path(folder), "cpu")
        with FakeTensorMode():
            on_gpu = types(Path(folder), "cuda")
        found[folder] = {"cpu": on_cpu, "cuda": on_gpu}
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
