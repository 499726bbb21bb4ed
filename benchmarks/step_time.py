"""Step time of the emitted training loops against hand-written ones and against framework layers.

Every framework runs in a process of its own, on one thread; see `worker.py` for the rounds and
for the check that all loops do the same work. Time is CPU time of the process (user + system): on
a busy machine it says more than wall time, which is recorded as well. Only ratios mean something.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from contestants import BASE, FRAMEWORKS

RECIPE = """
version: 1
name: step-time
seed: 1234
model: {{kind: bert, preset: {model}, vocab_size: 2048, max_positions: 64, labels: 3, dropout: 0.0}}
data: {{source: synthetic, sequence_length: 32, train_rows: 4096, eval_rows: 1024}}
batch: {{micro_batch_size: 8, global_batch_size: 32}}
precision: {precision}
accumulation: {{steps: 4, normalize_by: sample}}
clipping: {{kind: global_norm, max_norm: 1.0}}
optimizer:
  name: adamw
  learning_rate: 1e-4
  betas: [0.9, 0.999]
  eps: 1e-8
  weight_decay: 0.01
  no_decay: [bias, layer_norm]
schedule: {{name: linear, warmup_steps: 4, total_steps: 100000, end_lr: 0.0}}
"""
PRECISIONS = {
    "float32": "{mode: none, compute_dtype: float32}",
    "bfloat16": "{mode: mixed, compute_dtype: bfloat16}",
    "float16": "{mode: mixed, compute_dtype: float16}\n"
    "loss_scaling: {mode: dynamic, init_scale: 1024}",
}
COMPILERS = {
    "torch": "overrides: {torch: {compile: true}}\n",
    "tensorflow": "overrides: {tensorflow: {jit_compile: true}}\n",
}
# Largest difference of a loss that is near 1.1, and of the movement of the weights. Keras' own
# AdamW places epsilon elsewhere, which the smallest gradients show in the first windows.
LOSS_TOLERANCE = {"float32": 1e-3, "bfloat16": 1e-2, "float16": 3e-3}
MOVED_TOLERANCE = {"float32": 0.2, "bfloat16": 0.3, "float16": 0.2}
# Windows before the rounds, and windows per round and contestant.
CHECK_WINDOWS = {"tiny": 8, "small": 3, "base": 3}
WINDOWS = {"tiny": 8, "small": 1, "base": 4}
WORKER = Path(__file__).with_name("worker.py")


def prepare(folder: Path, model: str, precision: str, frameworks: Sequence[str]) -> None:
    """Write the emitted files, the training rows and the initial weights."""
    from crosscast.data import nli_synthetic
    from crosscast.emit.compiler import compile_recipe
    from crosscast.messages.output import write_files
    from crosscast.recipe.load import load
    from crosscast.targets.backend import Form
    from crosscast_parity.inputs.weights import bert_weights, save

    path = folder / "recipe.yaml"
    for framework in frameworks:
        for form in ("script", "step", "compiled"):
            text = RECIPE.format(model=model, precision=PRECISIONS[precision])
            if form == "compiled":
                text += COMPILERS.get(framework, "")
            path.write_text(text)
            recipe = load(str(path))
            emitted: Form = "step" if form == "step" else "script"
            (compiled,) = compile_recipe(recipe, [framework], form=emitted)
            write_files(folder / f"{framework}-{form}", compiled.files, manifest=False)
    nli_synthetic(4096, 32, 2048, 1234).save(folder / "train.npz")
    save(folder / "weights.safetensors", bert_weights(recipe.model, 1234))


def run_worker(folder: Path, framework: str, options: argparse.Namespace) -> dict[str, Any]:
    """Measure one framework in a new process; return what the worker wrote."""
    result = folder / f"{framework}.json"
    windows = options.windows or WINDOWS[options.model]
    flags = {
        "--device": options.device,
        "--framework": framework,
        "--precision": options.precision,
        "--folder": folder,
    }
    flags |= {"--check-windows": CHECK_WINDOWS[options.model], "--rounds": options.rounds}
    flags |= {"--windows": windows, "--result": result}
    if options.only:
        flags["--only"] = options.only
    arguments = [str(part) for pair in flags.items() for part in pair]
    quiet = {"OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "2"}
    if options.device == "cpu":
        quiet["CUDA_VISIBLE_DEVICES"] = ""
    done = subprocess.run(
        [sys.executable, str(WORKER), *arguments],
        env=os.environ | quiet,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{framework} failed:\n{done.stderr[-4000:]}")
    found: dict[str, Any] = json.loads(result.read_text())
    return found


def summary(contestant: dict[str, Any], base: dict[str, Any]) -> dict[str, float]:
    """Return the contestant's times and their ratios to the hand-written loop's.

    The ratio is the median over the rounds of the ratio within one round, so that a slow minute of
    the machine counts on both sides.
    """
    found: dict[str, float] = {}
    for clock in ("cpu", "wall"):
        pairs = zip(contestant[clock], base[clock], strict=True)
        found[f"{clock}_ratio"] = statistics.median(own / hand for own, hand in pairs)
        found[f"{clock}_min_ratio"] = min(contestant[clock]) / min(base[clock])
        found[f"{clock}_median"] = statistics.median(contestant[clock])
    return found


def remark(name: str, contestant: dict[str, Any], precision: str) -> str:
    """Return what keeps a line of the table from being a comparison of the same work."""
    if contestant["computes_in"] != precision:
        return f"computes in {contestant['computes_in']}"
    if not contestant["loss_difference"] <= LOSS_TOLERANCE[precision]:
        return f"other losses: up to {contestant['loss_difference']:.1g}"
    if not contestant["moved_difference"] <= MOVED_TOLERANCE[precision]:
        return f"weights move otherwise: {contestant['moved_difference']:.0%}"
    return "" if name != BASE else f"{statistics.median(contestant['cpu']) * 1e3:.1f} ms a window"


def print_table(framework: str, result: dict[str, Any], precision: str) -> None:
    """Print the ratios of one framework's contestants."""
    contestants = result["contestants"]
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    print(f"\n{framework} ({versions})")
    print(f"{'':40}   CPU (of minima)   wall     loss    moved")
    for name, contestant in contestants.items():
        found = summary(contestant, contestants[BASE])
        differences = f"{contestant['loss_difference']:.0e}  {contestant['moved_difference']:6.2%}"
        print(
            f"{contestant['title']:40}  {found['cpu_ratio']:5.3f} ({found['cpu_min_ratio']:5.3f})"
            f"     {found['wall_ratio']:5.3f}   {differences}   "
            f"{remark(name, contestant, precision)}"
        )


def merge(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Join the rounds of several processes; differences are those of the worst process."""
    merged = results[0]
    for result in results[1:]:
        for name, contestant in result["contestants"].items():
            into = merged["contestants"][name]
            for clock in ("cpu", "wall"):
                into[clock] += contestant[clock]
            for kind in ("loss_difference", "moved_difference"):
                into[kind] = max(into[kind], contestant[kind])
    return merged


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    add = parser.add_argument
    add("--framework", choices=FRAMEWORKS, action="append", help="default: all")
    add("--device", choices=("cpu", "gpu"), default="cpu", help="gpu: PyTorch only, wall time")
    add("--model", choices=sorted(WINDOWS), default="tiny", help="size of the BERT encoder")
    add("--precision", choices=sorted(PRECISIONS), default="float32")
    add("--rounds", type=int, default=15, help="rounds of every process")
    add("--processes", type=int, default=2, help="processes per framework, one after the other")
    add("--windows", type=int, help="windows per round and contestant")
    add("--only", help="contestants, separated by commas; the hand-written loop always runs")
    add("--json", type=Path, help="write everything measured to this file")
    options = parser.parse_args()
    frameworks = options.framework or list(FRAMEWORKS)
    if options.device == "gpu":
        frameworks = ["torch"]
    if options.precision != "float32" and "paddle" in frameworks:
        print("paddle has no half-precision kernels for CPUs: left out")
        frameworks = [name for name in frameworks if name != "paddle"]
    print(f"BERT-{options.model}, {options.precision}, 4 micro-batches of 8 rows of 32 tokens")
    measured = {}
    for framework in frameworks:
        results = []
        for _ in range(options.processes):
            with tempfile.TemporaryDirectory() as folder:
                prepare(Path(folder), options.model, options.precision, [framework])
                results.append(run_worker(Path(folder), framework, options))
        measured[framework] = merge(results)
        print_table(framework, measured[framework], options.precision)
    if options.json:
        settings = {name: getattr(options, name) for name in ("model", "precision", "device")}
        options.json.write_text(json.dumps(settings | {"frameworks": measured}, indent=1) + "\n")


if __name__ == "__main__":
    main()
