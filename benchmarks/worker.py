"""Run one framework's contestants in turn; `step_time.py` starts this in a process of its own.

First every contestant trains the same few windows: their losses and the way their weights moved
are compared with the hand-written loop, so that only loops that do the same work are compared.
Then come rounds in which every contestant trains a few more windows, in an order that rotates.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import importlib.util
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from contestants import BASE, Entry, entries
from contestants.lane import Lane
from contestants.task import Task

Weights = dict[str, np.ndarray]


@dataclass
class Measured:
    """What a contestant did: seconds per window of every round, and how it compares."""

    title: str
    computes_in: str = ""
    loss_difference: float = 0.0
    """Largest difference of a window's loss from the hand-written loop's."""
    moved_difference: float = 0.0
    """Norm of the difference of the weights' movements, relative to the hand-written loop's."""
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)


def movement(before: Weights, after: Weights) -> np.ndarray:
    """Return how far every weight moved, as one vector."""
    return np.concatenate([(after[name] - before[name]).ravel() for name in sorted(before)])


def start(entry: Entry, task: Task) -> Lane:
    """Start a contestant's loop; it stops before its first window."""
    module = importlib.import_module(f"contestants.{entry.module}")
    lane = Lane(partial(module.train, task))
    lane.start()
    return lane


def check(lanes: dict[str, Lane], measured: dict[str, Measured], windows: int) -> None:
    """Let all contestants train the same windows and note how they differ."""
    base_losses, base_moved = np.zeros(windows), np.zeros(1)
    for name, lane in lanes.items():
        before = lane.weights()
        lane.run(windows)
        losses = np.array(lane.losses()[:windows])
        moved = movement(before, lane.weights())
        if name == BASE:
            base_losses, base_moved = losses, moved
        result = measured[name]
        result.computes_in = lane.computes_in()
        result.loss_difference = float(np.abs(losses - base_losses).max())
        difference = np.linalg.norm(moved - base_moved) / np.linalg.norm(base_moved)
        result.moved_difference = float(difference)


def measure(
    lanes: dict[str, Lane],
    measured: dict[str, Measured],
    rounds: int,
    windows: int,
    wait: Callable[[], object],
) -> None:
    """Let the contestants train `windows` windows in turn; the first round does not count."""
    names = list(lanes)
    for number in range(rounds + 1):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            wait()
            cpu, wall = time.process_time(), time.perf_counter()
            lanes[name].run(windows)
            wait()
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            if number:
                measured[name].cpu.append(cpu / windows)
                measured[name].wall.append(wall / windows)


def end_of_work(framework: str, device: str) -> Callable[[], object]:
    """Return a function that waits until the device has done all that was asked of it."""
    if framework == "jax":
        import jax

        return lambda: jax.block_until_ready(jax.live_arrays())
    if device == "cpu":
        return lambda: None
    import torch

    return torch.cuda.synchronize


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    add = parser.add_argument
    add("--framework", required=True)
    add("--precision", required=True)
    add("--device", required=True)
    add("--folder", type=Path, required=True)
    add("--only", help="contestants, separated by commas, beside the hand-written loop")
    add("--check-windows", type=int, required=True)
    add("--rounds", type=int, required=True)
    add("--windows", type=int, required=True)
    add("--result", type=Path, required=True)
    options = parser.parse_args()
    windows = options.check_windows + (options.rounds + 1) * options.windows + 1
    task = Task(options.framework, options.precision, options.folder, options.device, windows)
    wanted = options.only.split(",") if options.only else None
    listed = [
        entry
        for entry in entries(options.framework)
        if (wanted is None or entry.name in (BASE, *wanted))
        and (not entry.package or importlib.util.find_spec(entry.package))
    ]
    lanes = {entry.name: start(entry, task) for entry in listed}
    measured = {entry.name: Measured(entry.title) for entry in listed}
    check(lanes, measured, options.check_windows)
    gc.collect()
    gc.freeze()
    measure(
        lanes,
        measured,
        options.rounds,
        options.windows,
        end_of_work(options.framework, options.device),
    )
    for lane in lanes.values():
        lane.close()
    result = {"versions": task.offered("versions")(), "contestants": {}}
    result["contestants"] = {name: asdict(found) for name, found in measured.items()}
    options.result.write_text(json.dumps(result))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
