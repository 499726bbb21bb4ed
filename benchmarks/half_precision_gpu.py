"""Step time and memory of the emitted PyTorch script in float32, TF32, float16 and bfloat16.

    python benchmarks/half_precision_gpu.py --docs

Compiles a recipe for BERT-small, -base and -large in every precision and runs `train_window` of
the emitted scripts on the GPU. Each script has a process of its own; those of one size take turns
in short rounds whose order rotates, so that a slow minute counts on all sides. Without a GPU
nothing is measured or written, and the exit code is 3. `--device cpu` is for trying the program,
not the GPU: its figures never reach the documentation.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from half_precision_page import DATA, PAGE, page, table

EXIT_CANNOT_RUN = 3
SIZES = {
    "tiny": "preset: tiny",
    "small": "preset: small",
    "base": "preset: base",
    "large": "layers: 24, hidden_size: 1024, attention_heads: 16, intermediate_size: 4096",
}
PRECISIONS = {
    "float32": "precision: {mode: none}",
    "tf32": "precision: {mode: none, tf32: true}",
    "float16": "precision: {mode: mixed, compute_dtype: float16}\n"
    "loss_scaling: {mode: dynamic, init_scale: 65536}",
    "bfloat16": "precision: {mode: mixed, compute_dtype: bfloat16}",
}
COMPILED = "-compiled"
PRECISIONS |= {
    f"{name}{COMPILED}": f"{PRECISIONS[name]}\noverrides: {{torch: {{compile: true}}}}"
    for name in ("float32", "float16", "bfloat16")
}
RECIPE = """\
version: 1
name: half-precision-gpu
seed: 1234
model: {{kind: bert, {size}, vocab_size: 30522, max_positions: 512, labels: 3, dropout: 0.0}}
data: {{source: synthetic, sequence_length: {tokens}, train_rows: 4096, eval_rows: 64}}
batch: {{micro_batch_size: {rows}}}
accumulation: {{steps: 2}}
clipping: {{kind: global_norm, max_norm: 1.0}}
optimizer: {{name: adamw, learning_rate: 1e-4, weight_decay: 0.01}}
schedule: {{name: linear, warmup_steps: 10, total_steps: 100000}}
{precision}
"""
WORKER = Path(__file__).with_name("half_precision_worker.py")
FOUND_GPU = """
import json, time, torch
found = {"torch": torch.__version__, "cuda": torch.version.cuda, "device": ""}
if torch.cuda.is_available():
    found["device"] = torch.cuda.get_device_name()
    found["capability"] = torch.cuda.get_device_capability()
    found["memory"] = torch.cuda.get_device_properties(0).total_memory
    few = torch.zeros(16, device="cuda")
    for _ in range(2):  # the first is slower
        torch.cuda.synchronize()
        started = time.perf_counter()
        for _ in range(5000):
            few.add_(1)
        torch.cuda.synchronize()
        found["operation_us"] = (time.perf_counter() - started) / 5000 * 1e6
print(json.dumps(found))
"""


def machine() -> dict[str, Any]:
    """Return the versions, and the name of the GPU; empty where there is none."""
    command = [sys.executable, "-c", FOUND_GPU]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def prepare(folder: Path, size: str, precision: str, options: argparse.Namespace) -> None:
    """Write the emitted script of one size and precision, and the rows."""
    from crosscast.data import nli_synthetic
    from crosscast.emit.compiler import compile_recipe
    from crosscast.messages.output import write_files
    from crosscast.recipe.validate import build_recipe
    from crosscast.recipe.yaml_source import parse

    text = RECIPE.format(
        size=SIZES[size],
        precision=PRECISIONS[precision],
        tokens=options.tokens,
        rows=options.rows,
    )
    (compiled,) = compile_recipe(build_recipe(parse(text, size)), ["torch"])
    write_files(folder, compiled.files)
    nli_synthetic(4096, options.tokens, 30522, 1234).save(folder / "train.npz")


class Worker:
    """A process that trains one script, some windows at a time."""

    def __init__(self, folder: Path, device: str, compiled: bool) -> None:
        variables = {} if device == "gpu" else {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
        self._process = subprocess.Popen(
            # A compiler would break its graph where somebody looks at a layer.
            [sys.executable, str(WORKER), str(folder), device, str(int(not compiled))],
            env=os.environ | variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def train(self, windows: int) -> dict[str, Any]:
        """Train the next windows; return what `answer` does."""
        self.ask(windows)
        return self.answer()

    def ask(self, windows: int) -> None:
        """Let it train the next windows; `answer` must follow."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the answer is missing then, too
            print(windows, file=self._process.stdin, flush=True)

    def answer(self) -> dict[str, Any]:
        """Return losses, seconds and peak memory of the windows, or why there are none."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"a measuring process ended with code {self._process.wait()}")
        found: dict[str, Any] = json.loads(line)
        return found

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def measure(size: str, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Return what every precision of one size came to."""
    workers: dict[str, Worker] = {}
    found: dict[str, dict[str, Any]] = {}
    try:
        for precision in options.precisions:
            prepare(folder / precision, size, precision, options)
            compiled = precision.endswith(COMPILED)
            workers[precision] = Worker(folder / precision, options.device, compiled)
        for worker in workers.values():  # all at once: compilers take a minute
            worker.ask(options.check_windows)
        for precision, worker in workers.items():
            found[precision] = worker.answer() | {"seconds": []}
        for number in range(options.rounds):
            running = [name for name in options.precisions if not found[name].get("failed")]
            shift = number % max(1, len(running))
            for name in running[shift:] + running[:shift]:
                result = workers[name].train(options.windows)
                found[name]["failed"] = result.get("failed", "")
                found[name]["seconds"] += [result["seconds"]] if not result.get("failed") else []
                found[name]["peak_memory"] = result.get("peak_memory")
    finally:
        for worker in workers.values():
            worker.close()
    results = {name: summary(runs) for name, runs in found.items()}
    base = results.get("float32", {}).get("losses", [])
    for result in results.values():
        pairs = zip(result.get("losses", []), base, strict=False)
        apart = [abs(mine - other) for mine, other in pairs]
        result["loss_difference"] = max(apart, default=None)
    return results


def summary(runs: dict[str, Any]) -> dict[str, Any]:
    """Return a precision's figures: seconds a window, bytes, losses of the first windows."""
    if runs.get("failed"):
        return {"failed": runs["failed"]}
    seconds = runs["seconds"]
    return {
        "seconds": statistics.median(seconds),
        "fastest": min(seconds),
        "slowest": max(seconds),
        "peak_memory": runs["peak_memory"],
        "computes_in": runs["computes_in"],
        "losses": runs["losses"],
    }


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    add = parser.add_argument
    add("--device", choices=("gpu", "cpu"), default="gpu")
    add("--sizes", default="small,base,large", help=f"of {', '.join(SIZES)}")
    add("--precisions", default=",".join(PRECISIONS), help=f"of {', '.join(PRECISIONS)}")
    add("--rows", type=int, default=32, help="rows of a micro-batch; a window has two")
    add("--tokens", type=int, default=128, help="tokens of a row")
    add("--check-windows", type=int, default=10, help="first windows, whose losses are compared")
    add("--windows", type=int, default=10, help="windows of a round")
    add("--rounds", type=int, default=7)
    add("--json", type=Path, help="write the figures to this file")
    add(
        "--docs",
        action="store_true",
        help=f"write {DATA.name} and {PAGE.name} in docs/measurements",
    )
    options = parser.parse_args()
    for name, known in (("sizes", SIZES), ("precisions", PRECISIONS)):
        chosen = getattr(options, name).split(",")
        if not set(chosen) <= known.keys():
            parser.error(f"--{name}: {', '.join(sorted(set(chosen) - known.keys()))} is not known")
        setattr(options, name, chosen)
    if options.docs and options.device != "gpu":
        parser.error("--docs is for figures of a GPU")
    if min(options.rows, options.check_windows, options.windows, options.rounds) < 1:
        parser.error("rows, windows and rounds are at least 1")
    return options


def main() -> int:
    """Measure, print, and write where asked."""
    options = parse_arguments()
    found = machine()
    if options.device == "gpu" and not found["device"]:
        print("PyTorch sees no CUDA device here: nothing is measured", file=sys.stderr)
        return EXIT_CANNOT_RUN
    if options.device == "cpu":
        found |= {"device": "cpu"}
    settings = {"rows": options.rows, "tokens": options.tokens}
    results: dict[str, Any] = {"machine": found, "settings": settings, "rounds": {}, "sizes": {}}
    for size in options.sizes:
        with tempfile.TemporaryDirectory() as folder:
            results["sizes"][size] = measure(size, Path(folder), options)
            results["rounds"][size] = [options.rounds, options.windows]
        if options.json:
            options.json.write_text(json.dumps(results, indent=1) + "\n")
        print(f"BERT-{size}, {found['device']}\n\n{table(results['sizes'][size])}\n", flush=True)
    if options.docs:
        DATA.write_text(json.dumps(results, indent=1) + "\n")
        PAGE.write_text(page(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
