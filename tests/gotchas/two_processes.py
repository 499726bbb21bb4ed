"""Trains emitted PyTorch scripts in two processes: `two_processes.py FOLDER...`.

Every folder holds the train.py of a recipe for two processes. Prints, by folder, the trace rows
and a sum over the weights. PyTorch is imported once; the processes are forks.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import torch

from crosscast_parity.inside.emitted import batches, offered
from crosscast_parity.inside.script import load_script
from gotchas.small_training import WINDOWS, data


def train(folder: Path, processes: int) -> dict[str, Any]:
    script: Any = load_script(folder / "train.py")
    torch.manual_seed(3)
    model = script.build_model().train()
    optimizer = script.make_optimizer(model)
    wrapped = torch.nn.parallel.DistributedDataParallel(model) if processes > 1 else model
    state = script.TrainState(wrapped, optimizer, torch.device("cpu"))
    rank = int(os.environ["RANK"])
    windows = batches(offered(script, "row_numbers"), data(), script.SETTINGS, rank=rank)
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
