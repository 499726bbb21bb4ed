"""Trains emitted PyTorch scripts in two processes: `two_processes.py FOLDER...`.

Every folder holds the train.py of a recipe for two processes. Prints, by folder, the trace rows
and a sum over the weights. PyTorch is imported once; the processes are forks.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

WINDOWS = 4
ROWS = 44


def import_script(folder: Path) -> ModuleType:
    for name in ("model", "train"):
        spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


def data() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    ids = rng.integers(4, 128, (ROWS, 8)).astype(np.int32)
    ones = np.ones_like(ids)
    return {
        "input_ids": ids,
        "attention_mask": ones,
        "token_type_ids": ones * 0,
        "labels": ids[:, 0] % 3,
    }


def train(folder: Path, processes: int) -> dict[str, Any]:
    script: Any = import_script(folder)
    torch.manual_seed(3)
    model = script.build_model().train()
    optimizer = script.make_optimizer(model)
    wrapped = torch.nn.parallel.DistributedDataParallel(model) if processes > 1 else model
    state = script.TrainState(wrapped, optimizer, torch.device("cpu"))
    windows = script.batches(data())
    rows = [
        script.train_window(state, next(windows), script.micro_batch_loss) for _ in range(WINDOWS)
    ]
    total = sum(p.detach().double().abs().sum().item() for p in model.parameters())
    return {"rows": rows, "weights": total}


def in_processes(folder: Path, processes: int) -> Any:
    """Train in forks of this process; return what the first one found."""
    found, store = folder / "found.json", folder / "store"
    children = []
    for rank in range(processes):
        child = os.fork()
        if child:
            children.append(child)
            continue
        code = 1
        try:
            os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(processes)}
            if processes > 1:
                torch.distributed.init_process_group(
                    "gloo", f"file://{store}", world_size=processes, rank=rank
                )
            answer = train(folder, processes)
            if not rank:
                found.write_text(json.dumps(answer))
            code = 0
        finally:
            os._exit(code)
    ends = [os.waitpid(child, 0)[1] for child in children]
    assert ends == [0] * processes, ends
    return json.loads(found.read_text())


if __name__ == "__main__":
    torch.set_num_threads(1)
    first, *others = map(Path, sys.argv[1:])
    RESULTS = {str(first): in_processes(first, 1)}
    RESULTS |= {str(folder): in_processes(folder, 2) for folder in others}
    print(json.dumps(RESULTS))
