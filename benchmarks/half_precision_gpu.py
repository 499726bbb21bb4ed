"""Step time and memory of PyTorch scripts in float32, TF32, float16 and bfloat16 on a GPU.

    python benchmarks/half_precision_gpu.py --docs

Compiles a recipe of version 1 and of version 2 for BERT-base and -large in every precision, with
and without `compile: true`, and runs `train_window` of the emitted scripts on the GPU; beside them
the BERT of transformers with fused attention under Accelerate. Each has a process of its own; the
processes of a group take turns in short rounds whose order rotates, so that a slow minute counts on
all sides. All ends within `--limit` seconds: what does not fit is left out and said
(`half_precision_plan.py`). Without a GPU nothing is measured or written, and the exit code is 3.
`--device cpu` is for trying the program, not the GPU: its figures never reach the documentation.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from half_precision_page import DATA, PAGE, page, table
from half_precision_plan import (
    ACCELERATE,
    REFERENCE,
    V2,
    VARIANTS,
    Group,
    Load,
    Variant,
    plan,
)

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
COMPILED = "overrides: {torch: {compile: true}}"
RECIPE = """\
version: {version}
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
{overrides}
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


def prepare(folder: Path, size: str, variant: Variant, options: argparse.Namespace) -> None:
    """Write the emitted script of one variant, and the rows.

    Accelerate trains on the rows, rates and sizes of the script of version 1 in float32.
    """
    from crosscast.data import nli_synthetic
    from crosscast.emit.compiler import compile_recipe
    from crosscast.messages.output import write_files
    from crosscast.recipe.validate import build_recipe
    from crosscast.recipe.yaml_source import parse

    own = variant.family != ACCELERATE
    text = RECIPE.format(
        version=2 if variant.family == V2 else 1,
        size=SIZES[size],
        precision=PRECISIONS[variant.precision if own else "float32"],
        overrides=COMPILED if variant.compiled else "",
        tokens=options.tokens,
        rows=options.rows,
    )
    (compiled,) = compile_recipe(build_recipe(parse(text, size)), ["torch"])
    write_files(folder, compiled.files)
    nli_synthetic(4096, options.tokens, 30522, 1234).save(folder / "train.npz")


def missing_for(variant: Variant) -> str:
    """Say what a variant needs that is not installed; empty if nothing."""
    needed = ("accelerate", "transformers") if variant.family == ACCELERATE else ()
    missing = [name for name in needed if not importlib.util.find_spec(name)]
    return f"{' and '.join(missing)}: not installed" if missing else ""


class Worker:
    """A process that trains one variant, some windows at a time, until a deadline ends it."""

    def __init__(self, folder: Path, variant: Variant, device: str, seconds: float) -> None:
        variables = {} if device == "gpu" else {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
        settings = {
            "folder": str(folder),
            "device": device,
            # A compiler would break its graph where somebody looks at a layer.
            "look": not variant.compiled,
            "accelerate": variant.precision if variant.family == ACCELERATE else "",
        }
        self._process = subprocess.Popen(
            [sys.executable, str(WORKER), json.dumps(settings)],
            env=os.environ | variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._late = False
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True
        self._timer.start()

    def _end(self) -> None:
        self._late = True
        self._process.kill()

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
            code = self._process.wait()
            return {"failed": "no time was left" if self._late else f"ended with code {code}"}
        answered: dict[str, Any] = json.loads(line)
        return answered

    def close(self) -> None:
        """End the process."""
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate()
        self._timer.cancel()


def measure(
    group: Group, folder: Path, options: argparse.Namespace, until: float
) -> dict[str, dict[str, Any]]:
    """Return what the variants of a group came to, by name.

    Args:
        group: Variants of one size.
        folder: Where their scripts may be written.
        options: The command line.
        until: When its last round must have started, and its processes end at the latest; as
            `time.monotonic` has it.
    """
    workers: dict[str, Worker] = {}
    runs: dict[str, dict[str, Any]] = {}
    try:
        for variant in group.variants:
            prepare(folder / variant.name, group.size, variant, options)
            left = max(0.0, until - time.monotonic())
            workers[variant.name] = Worker(folder / variant.name, variant, options.device, left)
        for worker in workers.values():  # all at once: compilers take a minute
            worker.ask(options.check_windows)
        for name, worker in workers.items():
            runs[name] = worker.answer() | {"seconds": []}
        longest = 0.0
        for number in range(options.rounds):
            if number and time.monotonic() + longest > until:
                break
            started = time.monotonic()
            running = [name for name in workers if not runs[name].get("failed")]
            shift = number % max(1, len(running))
            for name in running[shift:] + running[:shift]:
                result = workers[name].train(options.windows)
                runs[name]["failed"] = result.get("failed", "")
                runs[name]["seconds"] += [result["seconds"]] if not result.get("failed") else []
                runs[name]["peak_memory"] = result.get("peak_memory")
            longest = max(longest, time.monotonic() - started)
    finally:
        for worker in workers.values():
            worker.close()
    return {name: summary(each) for name, each in runs.items()}


def compare(results: dict[str, dict[str, Any]]) -> None:
    """Add to every result of one size how far its losses are from those of the reference.

    Those of Accelerate are not compared: its model has other weights.
    """
    base = results.get(REFERENCE, {})
    for name, result in results.items():
        other = base.get("losses", []) if VARIANTS[name].family != ACCELERATE else []
        pairs = zip(result.get("losses", []), other, strict=False)
        result["loss_difference"] = max((abs(a - b) for a, b in pairs), default=None)
        result["follows"] = follows(VARIANTS[name], result, base)


def follows(variant: Variant, result: dict[str, Any], base: dict[str, Any]) -> str:
    """Say whether losses and gradient norms are within the limits of `crosscast parity`.

    Compared are the loss of the first window and the gradient norm of every window in which the
    weights are those that both start with: the rate of the first is 0. Empty where nothing can be
    compared: other weights, no limit for TF32, the reference itself, or nothing was measured.
    """
    from crosscast_parity.checks.table import limit_of

    if variant.family == ACCELERATE or variant.precision == "tf32" or result is base:
        return ""
    if not result.get("losses") or not base.get("losses"):
        return ""
    level = "L1a" if variant.precision == "float32" else "L1c"
    limits = {
        "losses": limit_of(level, "first loss", variant.precision),
        "norms": limit_of("L0c", "gradient norm"),
    }
    apart = {
        what: max(
            abs(mine / other - 1)
            for mine, other in zip(result[what][:count], base[what][:count], strict=True)
        )
        for what, count in (("losses", 1), ("norms", 2))
    }
    worst = max(apart[what] / limits[what] for what in apart)
    return f"{'yes' if worst <= 1 else 'NO'}: {worst:.2f} of the limit"


def summary(runs: dict[str, Any]) -> dict[str, Any]:
    """Return a variant's figures: seconds a window, bytes, losses of the first windows."""
    seconds = runs["seconds"]
    if runs.get("failed") or not seconds:
        return {"failed": runs.get("failed") or "no time was left"}
    return {
        "seconds": statistics.median(seconds),
        "fastest": min(seconds),
        "slowest": max(seconds),
        "peak_memory": runs["peak_memory"],
        "computes_in": runs["computes_in"],
        "losses": runs["losses"],
        "norms": runs["norms"],
        "synchronisations": runs["synchronisations"],
        "rounds": len(seconds),
    }


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    add = parser.add_argument
    add("--device", choices=("gpu", "cpu"), default="gpu")
    add("--sizes", default="base,large", help=f"of {', '.join(SIZES)}")
    add("--variants", default=",".join(VARIANTS), help=f"of {', '.join(VARIANTS)}")
    add("--limit", type=float, default=560, help="seconds for everything")
    add("--plan", type=float, metavar="GIB", help="say what fits on a GPU of this memory; no more")
    add("--rows", type=int, default=32, help="rows of a micro-batch; a window has two")
    add("--tokens", type=int, default=128, help="tokens of a row")
    add("--check-windows", type=int, default=10, help="first windows, whose losses are compared")
    add("--windows", type=int, default=3, help="windows of a round")
    add("--rounds", type=int, default=4)
    add("--json", type=Path, help="write the figures to this file")
    add(
        "--docs",
        action="store_true",
        help=f"write {DATA.name} and {PAGE.name} in docs/measurements",
    )
    options = parser.parse_args()
    for name, known in (("sizes", SIZES), ("variants", VARIANTS)):
        chosen = getattr(options, name).split(",")
        if not set(chosen) <= known.keys():
            parser.error(f"--{name}: {', '.join(sorted(set(chosen) - known.keys()))} is not known")
        setattr(options, name, [each for each in known if each in chosen])
    options.variants = [VARIANTS[name] for name in options.variants]
    if options.docs and options.device != "gpu":
        parser.error("--docs is for figures of a GPU")
    if min(options.rows, options.check_windows, options.windows, options.rounds) < 1:
        parser.error("rows, windows and rounds are at least 1")
    return options


def planned(
    options: argparse.Namespace, memory: float
) -> tuple[list[Group], list[tuple[str, Variant]]]:
    """Return the groups that fit a GPU of this many GiB and the time, and what does not."""
    scale = options.rows * options.tokens / (32 * 128)
    load = Load(options.check_windows, options.windows, options.rounds, scale)
    variants = [each for each in options.variants if not missing_for(each)]
    return plan(options.sizes, variants, load, memory, options.limit)


def described(groups: list[Group], left_out: list[tuple[str, Variant]]) -> str:
    """Return a plan, for people."""
    lines = [
        f"BERT-{group.size}: {', '.join(each.name for each in group.variants)}"
        f" (about {group.seconds:.0f} s)"
        for group in groups
    ]
    lines += [f"BERT-{size}: {variant.name} does not fit" for size, variant in left_out]
    return "\n".join(lines)


def main() -> int:
    """Measure, print, and write where asked."""
    started = time.monotonic()
    options = parse_arguments()
    if options.plan:
        print(described(*planned(options, options.plan)))
        return 0
    seen = machine()
    if options.device == "gpu" and not seen["device"]:
        print("PyTorch sees no CUDA device here: nothing is measured", file=sys.stderr)
        return EXIT_CANNOT_RUN
    if options.device == "cpu":
        seen |= {"device": "cpu"}
    groups, left_out = planned(options, seen.get("memory", 2**36) / 2**30)
    print(described(groups, left_out), file=sys.stderr, flush=True)
    settings = {"rows": options.rows, "tokens": options.tokens}
    day = datetime.now(UTC).date().isoformat()
    sizes: dict[str, dict[str, Any]] = {size: {} for size in options.sizes}
    results = {"machine": seen, "measured": day, "settings": settings, "sizes": sizes}
    results["windows"] = dict.fromkeys(options.sizes, options.windows)
    for size in options.sizes:
        for variant in options.variants:
            if missing_for(variant):
                sizes[size][variant.name] = {"failed": missing_for(variant)}
    for size, variant in left_out:
        sizes[size][variant.name] = {"failed": "no time was left"}
    for number, group in enumerate(groups):
        later = sum(each.seconds for each in groups[number + 1 :])
        until = max(started + options.limit - later, time.monotonic() + group.seconds)
        with tempfile.TemporaryDirectory() as folder:
            sizes[group.size] |= measure(
                group, Path(folder), options, min(until, started + options.limit)
            )
        compare(sizes[group.size])
        if options.json:
            options.json.write_text(json.dumps(results, indent=1) + "\n")
    for size, measured in sizes.items():
        print(f"BERT-{size}, {seen['device']}\n\n{table(measured)}\n", flush=True)
    if options.docs:
        DATA.write_text(json.dumps(results, indent=1) + "\n")
        PAGE.write_text(page(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
