"""Rows of 10 GB that are mapped into memory: resident memory, and rows per second.

    python benchmarks/row_sources.py --gib 10 --micro-batches 300

The rows are those of an npy folder, in a sparse file: it has its whole length and takes no space on
the disk, and reading it fills pages with zeros. They are read in the shuffled order of an emitted
script, by its own `open_rows` and `row_numbers`, without a framework and its workers. Beside it
stands the loop that one would write by hand.

Resident memory is read from /proc/self/status before and after: RssAnon is what the process holds;
RssFile are pages of files, which the system takes back when it needs memory. VmHWM is the peak of
their sum. The order of the rows is in memory, 8 bytes a row, and counts.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from crosscast.emit.compiler import compile_recipe
from crosscast.messages.output import write_files
from crosscast.recipe.validate import build_recipe
from crosscast.recipe.yaml_source import parse

RECIPE = """
version: 1
name: rows
model: {{kind: custom, factory: {{torch: "net:Net"}}}}
data: {{source: npy, train: {folder}, eval: {folder}}}
batch: {{micro_batch_size: {size}, global_batch_size: {size}}}
optimizer: {{name: sgd, learning_rate: 0.1}}
schedule: {{name: constant, total_steps: 100}}
"""
SHAPE = (3, 32, 32)


def resident() -> dict[str, float]:
    """Return the resident memory in MiB by kind."""
    lines = Path("/proc/self/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    names = ("RssAnon", "RssFile", "VmHWM")
    return {name: int(fields[name].split()[0]) / 1024 for name in names}


def sparse_rows(folder: Path, gib: float) -> int:
    """Write a folder of rows: float32 images and int64 labels; return their number."""
    rows = int(gib * 2**30 / (4 * np.prod(SHAPE)))
    np.lib.format.open_memmap(folder / "images.npy", "w+", np.float32, (rows, *SHAPE))
    np.lib.format.open_memmap(folder / "labels.npy", "w+", np.int64, (rows,))
    return rows


def runtime(folder: Path, size: int) -> tuple[Any, Any, Any]:
    """Return the emitted modules `sources` and `rows`, and the settings of the script."""
    recipe = build_recipe(parse(RECIPE.format(folder=folder, size=size), "benchmark"))
    (compiled,) = compile_recipe(recipe, ["torch"])
    write_files(folder / "script", compiled.files)
    sys.path.insert(0, str(folder / "script"))
    sources, rows = (importlib.import_module(f"runtime.{name}") for name in ("sources", "rows"))
    settings = importlib.import_module("runtime.settings").Settings(
        recipe="",
        made_for="",
        since=(0, 0),
        train=str(folder),
        eval=str(folder),
        output="",
        seed=1234,
        micro_batch_size=size,
        accumulation_steps=1,
        windows=1,
        checkpoint_every=1,
        source="npy",
    )
    return sources, rows, settings


def by_hand(folder: Path, size: int, seed: int) -> Iterator[dict[str, np.ndarray]]:
    """Yield micro-batches as a loop without checks reads them."""
    images = np.load(folder / "images.npy", mmap_mode="r")
    labels = np.load(folder / "labels.npy", mmap_mode="r")
    order = np.random.default_rng([seed, 0]).permutation(len(labels))
    for start in itertools.count(0, size):
        chosen = order[start : start + size]
        yield {"images": images[chosen], "labels": labels[chosen]}


def rate(batches: Iterator[Any], count: int, size: int) -> float:
    """Return rows per second of CPU time."""
    next(batches)  # opens files and shuffles
    start = time.process_time()
    for _ in itertools.islice(batches, count):
        pass
    return count * size / (time.process_time() - start)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gib", type=float, default=10.0)
    parser.add_argument("--micro-batches", type=int, default=300)
    parser.add_argument("--micro-batch-size", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    size, count = args.micro_batch_size, args.micro_batches
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        n_rows = sparse_rows(folder, args.gib)
        written = sum(path.stat().st_blocks * 512 for path in folder.glob("*.npy"))
        sources, order, settings = runtime(folder, size)
        before = resident()

        def emitted() -> Iterator[Any]:
            rows = sources.open_rows(str(folder), settings, folder)
            for window in order.row_numbers(len(rows), settings):
                yield from map(rows.rows, window)

        rates: dict[str, list[float]] = {"emitted": [], "by hand": []}
        batches = emitted()
        rates["emitted"].append(rate(batches, count, size))
        after = resident()  # while the files are mapped
        print(f"{n_rows} rows of {args.gib:g} GiB, {written / 2**20:.1f} MiB on the disk")
        for kind in before:
            print(f"{kind:8} {before[kind]:7.1f} MiB before, {after[kind]:7.1f} MiB after")
        for _ in range(args.rounds):
            rates["by hand"].append(rate(by_hand(folder, size, 1234), count, size))
            rates["emitted"].append(rate(emitted(), count, size))
        for loop, found in rates.items():
            print(f"{loop:8} {np.median(found):9.0f} rows per second of CPU time, the median")


if __name__ == "__main__":
    main()
