"""BERT-base in PyTorch and JAX on one GPU: the same training, and time and memory of each.

    python benchmarks/frameworks_gpu.py --docs

For every precision: `crosscast parity` compares the two scripts on the GPU, then each trains a
short and a long run in turn. The time of a window is the difference of the two, so that neither
starting nor compiling counts; the memory is the most that the framework gave to arrays. All ends
within `--limit` seconds, and what does not fit is left out and said. Without a GPU that both
frameworks see the exit code is 3. `--device cpu` is for trying the program: its figures never reach
the documentation.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from crosscast.data import nli_synthetic

EXIT_CANNOT_RUN = 3
TRAINED, EVALUATED = "train.npz", "eval.npz"
FRAMEWORKS = ("torch", "jax")
PAGE = Path(__file__).resolve().parents[1] / "docs" / "measurements" / "frameworks-gpu.md"
RECIPE = """\
version: 2
name: frameworks-gpu
seed: 1234
model: {{kind: bert, preset: {size}, vocab_size: 2048, max_positions: 128, labels: 3, dropout: 0.0}}
data: {{source: synthetic, sequence_length: {length}, train_rows: 4096, eval_rows: 256}}
batch: {{micro_batch_size: {rows}, global_batch_size: {window}}}
precision: {{mode: {mode}, compute_dtype: {dtype}}}
accumulation: {{steps: 2, normalize_by: sample}}
clipping: {{kind: global_norm, max_norm: 1.0}}
optimizer:
  name: adamw
  learning_rate: 3e-5
  betas: [0.9, 0.999]
  eps: 1e-8
  weight_decay: 0.01
  no_decay: [bias, layer_norm]
schedule: {{name: linear, warmup_steps: 10, total_steps: 100000, end_lr: 0.0}}
"""
PRECISIONS = {"bfloat16": "mixed", "float32": "none"}
SEES_GPU = {
    "torch": "import sys, torch; sys.exit(not torch.cuda.is_available())",
    "jax": "import sys, jax; sys.exit(jax.local_devices()[0].platform != 'gpu')",
}


@dataclass(frozen=True, kw_only=True)
class Load:
    """How much is trained: rows of a micro-batch, tokens of a row, windows of a run."""

    size: str
    rows: int
    length: int
    compared: int
    short: int
    long: int


LOADS = {
    "base": Load(size="base", rows=32, length=128, compared=24, short=20, long=120),
    "tiny": Load(size="tiny", rows=4, length=32, compared=24, short=2, long=42),
}


@dataclass(frozen=True, kw_only=True)
class Result:
    """What was measured in one precision.

    `verdict`: of the comparison. `windows`: seconds of a window by framework, one of every round.
    `peaks`: bytes by framework, None where none are reported. `left_out`: for what no time was
    left.
    """

    precision: str
    verdict: str
    windows: Mapping[str, Sequence[float]]
    peaks: Mapping[str, int | None]
    left_out: Sequence[str]


class Bench:
    """Runs the commands of a measurement until its time is over."""

    def __init__(self, folder: Path, load: Load, device: str, limit: float) -> None:
        self._folder, self._load, self._device = folder, load, device
        self._ends = time.monotonic() + limit

        for name, rows in ((TRAINED, 4096), (EVALUATED, 256)):
            nli_synthetic(rows, load.length, 2048, 1234).save(folder / name)

    def measure(self, precision: str, rounds: int) -> Result:
        """Compare and time the scripts of one precision."""
        load, left_out = self._load, []
        recipe = self._folder / f"{precision}.yaml"
        recipe.write_text(
            RECIPE.format(
                size=load.size,
                length=load.length,
                rows=load.rows,
                window=2 * load.rows,
                mode=PRECISIONS[precision],
                dtype=precision,
            )
        )
        verdict = self._compared(recipe, precision) or "NOT TESTED"
        if verdict == "NOT TESTED":
            left_out.append("the comparison")
        compiled = self._folder / precision
        self._run(
            "-m", "crosscast", "compile", recipe, "--to", ",".join(FRAMEWORKS), "-o", compiled
        )
        windows: dict[str, list[float]] = {framework: [] for framework in FRAMEWORKS}
        peaks: dict[str, int | None] = dict.fromkeys(FRAMEWORKS)
        for number in range(rounds):
            for framework in FRAMEWORKS if number % 2 == 0 else reversed(FRAMEWORKS):
                measured = self._timed(compiled / framework)
                if measured is None:
                    left_out.append(f"round {number + 1} of {framework}")
                    continue
                seconds, peaks[framework] = measured
                windows[framework].append(seconds)
        return Result(
            precision=precision,
            verdict=verdict,
            windows=windows,
            peaks=peaks,
            left_out=tuple(left_out),
        )

    def _compared(self, recipe: Path, precision: str) -> str | None:
        report = self._folder / f"report-{precision}"
        flags = ["--check", "model", "--windows", self._load.compared, "--twins", 1, "--jobs", 1]
        # A difference ends with 1, and the report has the verdict.
        ended = self._run(
            *("-m", "crosscast", "parity", recipe, "--to", ",".join(FRAMEWORKS), *flags),
            *("--device", self._device, "--half", "native", "--output", report),
            allowed=(0, 1),
        )
        if ended is None:
            return None
        pairs = json.loads((report / "report.json").read_text())["pairs"]
        return str(pairs[0]["verdict"])

    def _timed(self, script: Path) -> tuple[float, int | None] | None:
        """Return the seconds of a window and the peak; None if no time is left."""
        seconds, output = [], script / "out"
        for windows in (self._load.short, self._load.long):
            shutil.rmtree(output, ignore_errors=True)
            flags = ["--device", self._device, "--windows", windows, "--output", output]
            rows = ["--train", self._folder / TRAINED, "--eval", self._folder / EVALUATED]
            begun = time.monotonic()
            if self._run(script / "train.py", *flags, *rows) is None:
                return None
            seconds.append(time.monotonic() - begun)
        trace = (output / "trace.jsonl").read_text().splitlines()
        peak = json.loads(trace[-1]).get("peak_memory")
        return (seconds[1] - seconds[0]) / (self._load.long - self._load.short), peak

    def _run(self, *command: object, allowed: Sequence[int] = (0,)) -> int | None:
        """Run Python; return its exit code, or None if the time is over.

        Raises:
            RuntimeError: it failed.
        """
        left = self._ends - time.monotonic()
        # JAX would take three quarters of the GPU at once, beside PyTorch in a comparison.
        variables = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
        try:
            done = subprocess.run(
                [sys.executable, *map(str, command)],
                env=os.environ | variables,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=max(left, 0.1),
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None
        if done.returncode not in allowed:
            words = " ".join(map(str, command))
            raise RuntimeError(f"{words}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        return done.returncode


def lines(results: Sequence[Result]) -> Iterator[str]:
    """Yield the table, and what was left out."""
    yield "| precision | verdict | framework | ms a window | fastest to slowest | peak, MiB |"
    yield "|---|---|---|---:|---:|---:|"
    for result in results:
        for framework, seconds in result.windows.items():
            peak = result.peaks[framework]
            memory = "NOT MEASURED" if peak is None else f"{peak / 2**20:.0f}"
            times = "NOT MEASURED | NOT MEASURED"
            if seconds:
                ends = f"{min(seconds) * 1e3:.1f} to {max(seconds) * 1e3:.1f}"
                times = f"{statistics.median(seconds) * 1e3:.1f} | {ends}"
            yield f"| {result.precision} | {result.verdict} | {framework} | {times} | {memory} |"
    for result in results:
        if result.left_out:
            yield ""
            yield f"No time was left in {result.precision} for {', '.join(result.left_out)}."


def page(results: Sequence[Result], load: Load, gpu: str) -> str:
    """Return the page of the documentation."""
    return "\n".join(
        [
            "# PyTorch and JAX on one GPU",
            "",
            "Written by `python benchmarks/frameworks_gpu.py --docs`; do not edit.",
            "",
            f"BERT-{load.size} on {gpu}: windows of two micro-batches of {load.rows} rows of"
            f" {load.length} tokens, AdamW, clipping by norm, no dropout. The verdict is that of"
            f" `crosscast parity --check model --device gpu` over {load.compared} windows; a time"
            f" is that of the windows from {load.short} to {load.long} of a run.",
            "",
            *lines(results),
            "",
        ]
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Measure; return 1 if a comparison does not end with EQUIVALENT."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--size", choices=LOADS, default="base")
    add("--precisions", default=",".join(PRECISIONS), metavar="TYPE,...")
    add("--rounds", type=int, default=3)
    add("--device", choices=("gpu", "cpu"), default="gpu")
    add("--limit", type=float, default=540.0, help="seconds that all may take")
    add("--docs", action="store_true", help=f"write {PAGE.relative_to(PAGE.parents[2])}")
    options = parser.parse_args(argv)
    gpu = options.device
    if options.device == "gpu":
        for framework, program in SEES_GPU.items():
            if subprocess.run([sys.executable, "-c", program], capture_output=True).returncode:
                print(f"{framework} sees no GPU", file=sys.stderr)
                return EXIT_CANNOT_RUN
        name = "import torch; print(torch.cuda.get_device_name())"
        gpu = subprocess.check_output([sys.executable, "-c", name], text=True).strip()
    load = LOADS[options.size]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), load, options.device, options.limit)
        names = options.precisions.split(",")
        results = [bench.measure(precision, options.rounds) for precision in names]
    print("\n".join(lines(results)))
    if options.docs and options.device == "gpu":
        PAGE.write_text(page(results, load, gpu), encoding="utf-8")
    return int(any(result.verdict != "EQUIVALENT" for result in results))


if __name__ == "__main__":
    sys.exit(main())
