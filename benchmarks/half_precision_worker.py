"""Trains a script or a loop some windows at a time: `half_precision_worker.py SETTINGS`.

SETTINGS is JSON: `folder` of an emitted script, `device` gpu or cpu, `look` to note the types that
dense layers compute in, and `accelerate`, the precision of a BERT of transformers that is trained
instead of the script's; empty for the script itself. Reads a number of windows from every line of
its input and answers with one line of JSON: losses and gradient norms, seconds a window, the most
bytes that tensors held, and how often one more window waited for the GPU.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import torch

# isort: split
from crosscast_parity.inside.emitted import arguments_of, batches, offered, prepared


class Training:
    """A script's state, its rows, and the types that its dense layers were seen to give."""

    def __init__(self, folder: Path, device: str, look: bool, accelerate: str) -> None:
        sys.path.insert(0, str(folder))
        self.script: Any = importlib.import_module("train")
        settings, flags = self.script.SETTINGS, ["--device", device]
        args = arguments_of(self.script, flags)
        self.device = offered(self.script, "select_device")(args, settings)
        rows = offered(self.script, "read_rows")(folder / "train.npz", settings)
        self.windows = batches(offered(self.script, "row_numbers"), rows, settings)
        if accelerate:
            loop = importlib.import_module("half_precision_accelerate")
            other = loop.Loop(self.script, self.device, accelerate)
            model, self.step = other.model, other.train_window
        else:
            state, loss = prepared(self.script, self.device, flags), self.script.micro_batch_loss
            model = state.model
            self.step = lambda window: self.script.train_window(state, window, loss)
        self.types: set[str] = set()
        self.synchronisations: int | None = None
        for layer in model.modules():
            if look and isinstance(layer, torch.nn.Linear):
                layer.register_forward_hook(self._look)

    def _look(self, layer: torch.nn.Module, given: Any, result: torch.Tensor) -> None:
        self.types.add(str(result.dtype).removeprefix("torch."))

    def train(self, windows: int) -> dict[str, Any]:
        """Train the next windows; the first time one more, whose synchronisations are counted."""
        on_gpu = self.device.type == "cuda"
        chosen = list(itertools.islice(self.windows, windows))
        if on_gpu:
            torch.cuda.reset_peak_memory_stats()
            torch.cuda.synchronize()
        started = time.perf_counter()
        rows = [self.step(window) for window in chosen]
        if on_gpu:
            torch.cuda.synchronize()
        seconds = (time.perf_counter() - started) / windows
        peak = torch.cuda.max_memory_allocated() if on_gpu else None
        if on_gpu and self.synchronisations is None:
            self.synchronisations = self._waits()
        return {
            "losses": [row["loss"] for row in rows],
            "norms": [row["grad_norm"] for row in rows],
            "seconds": seconds,
            "peak_memory": peak,
            "synchronisations": self.synchronisations,
            "computes_in": sorted(self.types),
        }

    def _waits(self) -> int:
        """Count how often one window waits for the GPU."""
        (window,) = itertools.islice(self.windows, 1)
        torch.cuda.set_sync_debug_mode("warn")
        try:
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                self.step(window)
        finally:
            torch.cuda.set_sync_debug_mode("default")
        return sum("synchronizing CUDA operation" in str(each.message) for each in told)


def main() -> None:
    answers, settings = sys.stdout, json.loads(sys.argv[1])
    settings["folder"] = Path(settings["folder"])
    training: Training | None = None
    with contextlib.redirect_stdout(sys.stderr):
        for line in sys.stdin:
            try:
                training = training or Training(**settings)
                answer = training.train(int(line))
            except torch.OutOfMemoryError:
                answer = {"failed": "out of memory"}
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
