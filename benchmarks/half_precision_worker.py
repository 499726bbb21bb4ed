"""Trains an emitted script some windows at a time: `half_precision_worker.py FOLDER gpu|cpu 1|0`.

Reads a number of windows from every line of its input and answers with one line of JSON: losses,
seconds a window, the most bytes that tensors held, and, after 1, the types that dense layers
computed in.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import json
import sys
import time
from pathlib import Path
from typing import Any

import torch

# isort: split
from crosscast_parity.inside.emitted import arguments_of, batches, offered, prepared


class Training:
    """A script's state, its rows, and the types that its dense layers were seen to give."""

    def __init__(self, folder: Path, device: str, look: bool) -> None:
        sys.path.insert(0, str(folder))
        self.script: Any = importlib.import_module("train")
        settings, flags = self.script.SETTINGS, ["--device", device]
        args = arguments_of(self.script, flags)
        self.device = offered(self.script, "select_device")(args, settings)
        self.state = prepared(self.script, self.device, flags)
        rows = offered(self.script, "read_rows")(folder / "train.npz", settings)
        self.windows = batches(offered(self.script, "row_numbers"), rows, settings)
        self.types: set[str] = set()
        for layer in self.state.model.modules():
            if look and isinstance(layer, torch.nn.Linear):
                layer.register_forward_hook(self._look)

    def _look(self, layer: torch.nn.Module, given: Any, result: torch.Tensor) -> None:
        self.types.add(str(result.dtype).removeprefix("torch."))

    def train(self, windows: int) -> dict[str, Any]:
        """Train the next windows."""
        on_gpu = self.device.type == "cuda"
        chosen = list(itertools.islice(self.windows, windows))
        if on_gpu:
            torch.cuda.reset_peak_memory_stats()
            torch.cuda.synchronize()
        started, loss = time.perf_counter(), self.script.micro_batch_loss
        rows = [self.script.train_window(self.state, window, loss) for window in chosen]
        if on_gpu:
            torch.cuda.synchronize()
        seconds = (time.perf_counter() - started) / windows
        peak = torch.cuda.max_memory_allocated() if on_gpu else None
        found = {"losses": [row["loss"] for row in rows], "seconds": seconds, "peak_memory": peak}
        return found | {"computes_in": sorted(self.types)}


def main() -> None:
    answers = sys.stdout
    training: Training | None = None
    with contextlib.redirect_stdout(sys.stderr):
        for line in sys.stdin:
            try:
                training = training or Training(Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "1")
                found = training.train(int(line))
            except torch.OutOfMemoryError:
                found = {"failed": "out of memory"}
            print(json.dumps(found), file=answers, flush=True)


if __name__ == "__main__":
    main()
