"""How far training in emulated half precision is from training in native half precision.

    python benchmarks/half_training.py [--windows 200] [--frameworks torch,tensorflow,paddle]

Compiles the recipe below for float16 and bfloat16, trains every script on the same weights and
batches, natively and emulated, and prints how far the losses are apart; beside it, for a measure,
how far native runs are apart that start from weights perturbed by 1e-7, and how far half precision
is from float32.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from crosscast.emit.compiler import compile_recipe
from crosscast.messages.output import write_files
from crosscast.recipe.document import Recipe
from crosscast.recipe.validate import build_recipe
from crosscast.recipe.yaml_source import parse
from crosscast_parity.inputs.shared import Inputs, write_inputs
from crosscast_parity.processes.process import child_environment
from crosscast_parity.recordings.trace import TraceRow, read_trace

RUNNER = "crosscast_parity.inside.runner"
RECIPE = """\
version: 1
name: half
seed: 3
model: {{kind: bert, layers: 2, hidden_size: 64, attention_heads: 2, intermediate_size: 256,
        vocab_size: 512, max_positions: 24, labels: 3, dropout: 0.0}}
data: {{source: synthetic, sequence_length: 24, train_rows: 2000, eval_rows: 512}}
batch: {{micro_batch_size: 8, global_batch_size: 32}}
precision: {precision}
clipping: {{kind: global_norm, max_norm: 0.35}}
optimizer: {{name: adamw, learning_rate: 5e-4, weight_decay: 0.1}}
schedule: {{name: linear, warmup_steps: 20, total_steps: {windows}}}
"""
PRECISIONS = {
    "float32": "{mode: none}",
    "float16": "{mode: mixed, compute_dtype: float16}\n"
    "loss_scaling: {mode: dynamic, init_scale: 4096, growth_interval: 40}",
    "bfloat16": "{mode: mixed, compute_dtype: bfloat16}",
}
HAS_NATIVE = ("torch", "tensorflow")
Name = tuple[str, str, str]
"""Framework, type, and `native`, `emulated` or `perturbed`."""


class Bench:
    """Runs scripts below a folder and keeps their traces."""

    def __init__(self, folder: Path, windows: int, frameworks: list[str]) -> None:
        self.folder, self.windows = folder, windows
        self.rows: dict[Name, tuple[TraceRow, ...]] = {}
        self.seconds: dict[Name, float] = {}
        self.inputs: Inputs | None = None
        for dtype, precision in PRECISIONS.items():
            text = RECIPE.format(precision=precision, windows=windows)
            self._compile(build_recipe(parse(text, dtype)), dtype, frameworks)

    def _compile(self, recipe: Recipe, dtype: str, frameworks: list[str]) -> None:
        if self.inputs is None:
            (self.folder / "inputs").mkdir()
            self.inputs = write_inputs(recipe, self.folder / "inputs", 1)
        for compiled in compile_recipe(recipe, frameworks):
            write_files(self.folder / dtype / compiled.target.folder, compiled.files)

    def train(self, name: Name) -> None:
        """Train one script to the end."""
        framework, dtype, how = name
        assert self.inputs is not None
        script = self.folder / dtype / framework / "train.py"
        output = self.folder / "-".join(name)
        weights = self.inputs.twins[0] if how == "perturbed" else self.inputs.weights
        runner = [
            "-m",
            RUNNER,
            "--inside",
            f"crosscast_{framework}.inside",
            "--script",
            script,
        ]
        runner += ["--emulate", "--"] if how == "emulated" else ["--"]
        flags = ["--train", self.inputs.train, "--eval", self.inputs.eval, "--weights", weights]
        flags += ["--output", output, "--device", "cpu", "--threads", 1]
        started = os.times().children_user
        subprocess.run(
            [sys.executable, *map(str, [*runner, *flags])],
            env=child_environment(threads=1, device="cpu"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        self.seconds[name] = os.times().children_user - started
        self.rows[name] = read_trace(output / "trace.jsonl")
        print(f"{' '.join(name)}: {self.seconds[name]:.0f} CPU s", file=sys.stderr, flush=True)

    def line(self, ours: Name, theirs: Name) -> str:
        """Return one line of the table."""
        a, b = (np.array([row.loss for row in self.rows[name]]) for name in (ours, theirs))
        norms = [
            abs(x.grad_norm / y.grad_norm - 1)
            for x, y in zip(self.rows[ours], self.rows[theirs], strict=True)
            if x.grad_norm and y.grad_norm
        ]
        apart = np.abs(a - b)
        cells = (
            f"{' '.join(ours)} / {' '.join(theirs)}",
            f"{apart[:10].max():.1e}",
            f"{np.median(apart[-50:]):.1e}",
            f"{apart.max():.1e}",
            f"{norms[0]:.1e}",
            self.machines(ours, theirs),
        )
        return "| " + " | ".join(cells) + " |"

    def machines(self, ours: Name, theirs: Name) -> str:
        """Say whether the loss scales did the same; float32 has none."""
        if "float32" in (ours[1], theirs[1]):
            return ""
        return "equal" if self.machine(ours) == self.machine(theirs) else "not equal"

    def machine(self, name: Name) -> list[tuple[float, bool, int]]:
        """What the loss scale did."""
        return [(row.scale, row.skipped, row.updates) for row in self.rows[name]]


def pairs(frameworks: list[str], dtype: str) -> list[tuple[Name, Name]]:
    """Return what is compared for a half type."""
    native = [name for name in frameworks if name in HAS_NATIVE]
    found = [((name, dtype, "emulated"), (name, dtype, "native")) for name in native]
    for name in frameworks:
        if name != "torch" and "torch" in frameworks:
            found.append(((name, dtype, "emulated"), ("torch", dtype, "emulated")))
            found.append(((name, dtype, "emulated"), ("torch", dtype, "native")))
    for name in native:
        found.append(((name, dtype, "perturbed"), (name, dtype, "native")))
        found.append(((name, dtype, "native"), (name, "float32", "native")))
    return found


def main() -> None:
    """Train everything once and print Markdown tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--windows", type=int, default=200)
    parser.add_argument("--frameworks", default="torch,tensorflow,paddle")
    options = parser.parse_args()
    frameworks = options.frameworks.split(",")
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), options.windows, frameworks)
        for dtype in ("float16", "bfloat16"):
            print(f"\n{dtype}, {options.windows} windows; differences of the window's loss\n")
            print("| runs | first 10, max | last 50, median | max | first norm | loss scale |")
            print("|---|---|---|---|---|---|")
            for ours, theirs in pairs(frameworks, dtype):
                for name in (ours, theirs):
                    if name not in bench.rows:
                        bench.train(name)
                print(bench.line(ours, theirs), flush=True)
        print("\n| run | CPU seconds | last loss |\n|---|---|---|")
        for name, seconds in bench.seconds.items():
            print(f"| {' '.join(name)} | {seconds:.1f} | {bench.rows[name][-1].loss:.4f} |")
    print(f"\n{time.monotonic() - started:.0f} s in all", file=sys.stderr)


if __name__ == "__main__":
    main()
