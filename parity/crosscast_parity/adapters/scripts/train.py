"""Train the model of emitted.py, in the same folder, with a third-party trainer.

Data, order, model, optimizer, schedule and evaluation are those of emitted.py; loop.py hands them
to the trainer. Options and results are those of emitted.py, but for --resume.
"""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, TextIO

import emitted
from model import build_model
from runtime import run as runner
from runtime.checkpoint import load_weights, save_arrays
from runtime.rows import evaluated_rows
from runtime.settings import Stop
from runtime.sources import read_rows
from runtime.state import model_arrays

__all__ = ["build_model", "main"]

SETTINGS: dict[str, Any] = json.loads(Path(__file__).with_name("settings.json").read_text())


@dataclass
class Trace:
    """Writes one row a window; `losses` and `sizes` are those of its micro-batches so far."""

    file: TextIO
    state: Any
    windows: int
    losses: list[Any] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)

    @property
    def full(self) -> bool:
        """Whether the run has all its windows."""
        return bool(self.state.windows >= self.windows)

    def micro_batch(self, loss: Any, rows: int) -> None:
        """Take note of a micro-batch and of its share in the window's loss."""
        self.losses.append(loss)
        self.sizes.append(rows)

    def window(self, *, lr: float, grad_norm: float, scale: float, skipped: bool) -> None:
        """Write the row of a window that has ended."""
        self.state.windows += 1
        self.state.updates += not skipped
        row = {
            "window": self.state.windows - 1,
            "n_micro": len(self.sizes),
            "rows": sum(self.sizes),
            "loss": float(sum(float(loss) for loss in self.losses)),
            "lr": float(lr),
            "grad_norm": float(grad_norm),
            "scale": float(scale),
            "skipped": bool(skipped),
            "updates": self.state.updates,
        }
        print(json.dumps(runner.finite(row)), file=self.file, flush=True)
        self.losses, self.sizes = [], []


def train(run: Any) -> dict[str, float]:
    """Train with the trainer, return the evaluation."""
    args, settings = run.args, emitted.SETTINGS
    if args.resume:
        raise Stop("failed", 2, "--resume: go on with the trainer's own checkpoints")
    run.state = state = emitted.make_state(run)
    train_rows, eval_rows = (read_rows(path, settings) for path in (args.train, args.eval))
    if args.weights:
        load_weights(args.weights, state, settings)
    try:
        loop = importlib.import_module("loop")
    except ModuleNotFoundError as error:
        message = f"{error.name} is not installed; pip install {' '.join(SETTINGS['requires'])}"
        raise Stop("cannot_run", 3, message) from None
    with runner.open_trace(args.output, 0) as file:
        trace = Trace(file, state, args.windows)
        loop.train(args, state, train_rows, trace, SETTINGS)
    save_arrays(args.output / "model.safetensors", model_arrays(state))
    numbers = evaluated_rows(len(eval_rows["labels"]), settings)
    batches = ({name: array[rows] for name, array in eval_rows.items()} for rows in numbers)
    return dict(emitted.evaluate(state, batches))


def versions() -> dict[str, str]:
    """Versions of the framework and of the trainer."""
    by_package = dict(framework_versions())
    for package in SETTINGS["packages"]:
        try:
            by_package[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue  # reported by run()
    return by_package


framework_versions = runner.versions
emitted.train, runner.versions = train, versions


def main(argv: list[str] | None = None) -> int:
    """Run as emitted.py does, up to the training itself."""
    return int(emitted.main(argv))


if __name__ == "__main__":
    sys.exit(main())
