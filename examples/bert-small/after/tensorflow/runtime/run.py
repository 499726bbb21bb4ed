"""Run a training loop: command line, trace, progress, checkpoints and status."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import math
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from .arguments import AddOptions, parse_arguments
from .checkpoint import load_checkpoint, load_weights, save_arrays, save_checkpoint
from .device import (
    describe_device,
    leave_processes,
    lost_process,
    peak_memory,
    process_rank,
    select_device,
    versions,
)
from .loader import load
from .rows import evaluated_rows, row_numbers
from .settings import Settings, Stop
from .sources import Batch, Rows, open_both
from .state import TrainState, ema_arrays, model_arrays, restore_model

PATIENCE = 25  # overflowed windows in a row at the lowest scale before the run stops

Evaluate = Callable[[TrainState, Iterable[Batch]], dict[str, float]]


class Run:
    """One run of a script, from its command line to its last file.

    `device`: what the model is on. `args`: the command line. `rank`: number of this
    process among the data-parallel ones; only the first writes. `state`: once training
    has begun.
    """

    def __init__(self, settings: Settings, args: argparse.Namespace) -> None:
        self.settings, self.args = settings, args
        self.device: Any = None
        self.rank = 0
        self.state: TrainState | None = None
        self.stuck = 0
        self.asked: list[int] = []  # signals that ask for a checkpoint

    def windows(self, state: TrainState) -> Iterator[list[Batch]]:
        """Yield the micro-batches of every window that is left to train."""
        args, settings, self.state = self.args, self.settings, state
        checkpoint = args.output / "checkpoint.safetensors"
        args.resume |= args.auto_resume and checkpoint.exists()
        if checkpoint.exists() and not args.resume:
            message = f"{args.output} holds a run: pass --resume, or another --output"
            raise Stop("failed", 2, message)
        rows, self.eval_rows = open_both(args.train, args.eval, settings, args.output)
        self.n_rows = len(rows)
        if args.weights:
            load_weights(args.weights, state, settings)
        if args.resume:
            counters = load_checkpoint(checkpoint, state, settings, self.n_rows)
            self.stuck = counters.get("stuck", 0)
        self.first, self.started = state.windows, time.perf_counter()
        with open_trace(None if self.rank else args.output, self.first) as self.trace:
            yield from self.batches(rows, self.first)

    def batches(self, rows: Rows, first: int) -> Iterator[list[Batch]]:
        """Yield windows of micro-batches, from window number `first` to the last."""

        def numbers() -> Iterator[list[np.ndarray]]:
            windows = row_numbers(len(rows), self.settings, first, self.rank)
            return itertools.islice(windows, max(0, self.args.windows - first))

        chain = itertools.chain.from_iterable(numbers())
        with contextlib.closing(load(rows, chain, self.args.workers)) as batches:
            for window in numbers():
                yield list(itertools.islice(batches, len(window)))

    def record(self, state: TrainState, row: dict[str, Any]) -> None:
        """Write the row of a window to the trace; report, save and stop where due."""
        args = self.args
        row |= {"scale": row.get("scale", 1.0), "skipped": row.get("skipped", False)}
        row |= peak_memory()
        print(json.dumps(finite(row)), file=self.trace, flush=True)
        last = state.windows == args.windows
        if not self.rank and (last or state.windows % args.log_every == 0):
            speed = (state.windows - self.first) / (time.perf_counter() - self.started)
            report(row, args.windows, speed)
        self.stop_if_hopeless(state, row)
        if last or self.asked or state.windows % args.checkpoint_every == 0:
            self.asked.clear()
            if not self.rank:
                path = args.output / "checkpoint.safetensors"
                save_checkpoint(path, state, self.settings, self.n_rows, self.stuck)

    def stop_if_hopeless(self, state: TrainState, row: dict[str, Any]) -> None:
        """Stop a run that can no longer recover."""
        scale = self.settings.scale if getattr(state, "amp", True) else None
        if scale is None:
            for name in ("loss", "grad_norm"):
                if not math.isfinite(row[name]):
                    message = f"{name} is not finite in window {row['window']}"
                    raise Stop("stopped", 1, message)
            return
        least, most = scale
        if row["scale"] < 2.0**-126:  # no lowest scale: float32 loses its digits
            raise Stop("stopped", 1, f"the loss scale has fallen to {row['scale']:g}")
        moves = least < most and getattr(state, "dynamic", True)
        hopeless = row["skipped"] and (row["scale"] <= least or not moves)
        self.stuck = self.stuck + 1 if hopeless else 0
        if self.stuck >= PATIENCE:
            message = f"the loss scale is {row['scale']:g} and gradients still overflow"
            skipped = f"{PATIENCE} windows were skipped in a row"
            raise Stop("stopped", 1, f"{message}: {skipped}")

    def finish(self, state: TrainState, evaluate: Evaluate) -> dict[str, float]:
        """Write the weights, and evaluate them and their averages."""
        weights = model_arrays(state)
        self.save("model.safetensors", weights)
        result = evaluate(state, self.eval_batches())
        if not self.settings.averages:
            return result
        # Copies: the arrays may be views of the weights, which are overwritten.
        weights = {name: array.copy() for name, array in weights.items()}
        averaged = weights | ema_arrays(state)
        self.save("ema.safetensors", averaged)
        restore_model(state, averaged)
        averages = evaluate(state, self.eval_batches())
        restore_model(state, weights)
        return result | {f"ema_{name}": value for name, value in averages.items()}

    def eval_batches(self) -> Iterator[Batch]:
        """Yield the micro-batches of an evaluation."""
        numbers = evaluated_rows(len(self.eval_rows), self.settings)
        return load(self.eval_rows, numbers, self.args.workers)

    def save(self, name: str, arrays: dict[str, Any]) -> None:
        """Write arrays to a file of the output folder."""
        if not self.rank:
            save_arrays(self.args.output / name, arrays)


def run_training(
    settings: Settings,
    train: Callable[[Run], dict[str, float]],
    argv: list[str] | None = None,
    add_options: AddOptions | None = None,
) -> int:
    """Train as the command line says; write status.json; return the exit code.

    Args:
        settings: Facts about the recipe.
        train: Trains in a run and returns the evaluation.
        argv: The command line; None for that of the process.
        add_options: Adds the options of one framework to the parser.
    """
    args = parse_arguments(settings, argv, add_options)
    run = Run(settings, args)
    if argv is None:
        # A launcher whose other process died, or a queue, ends this one as Ctrl-C does.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        signal.signal(signal.SIGUSR1, lambda number, frame: run.asked.append(number))
    try:
        run.rank = process_rank()
        args.output.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=args.output).close()  # files can be made there
        if not run.rank:
            (args.output / "status.json").unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        print(f"failed: cannot write to {args.output}: {error}", file=sys.stderr)
        return 2
    status: dict[str, Any] = {"status": "finished", "exit_code": 0, "message": ""}
    status |= {"windows": 0, "updates": 0, "eval": None}
    try:
        check_version(settings)
        run.device = select_device(args, settings)
        status |= {"device": describe_device(run.device), "versions": versions()}
        status["eval"] = finite(train(run))
    except Stop as stop:
        status |= {"status": stop.status, "exit_code": stop.exit_code}
        status["message"] = str(stop)
    except KeyboardInterrupt:
        status |= {"status": "stopped", "exit_code": 130, "message": "interrupted"}
    except Exception as error:
        status |= {"status": "failed", "exit_code": 1, "message": repr(error)}
        if not lost_process(error):
            if not run.rank:
                write_status(args.output, status, run.state)
            raise  # a fault of the script or of the framework, not of its use
        reason = str(error).strip().partition("\n")[0] or repr(error)
        lost = f"another process has ended, or cannot be reached: {reason}"
        status["message"] = lost
    leave_processes(run.state, settings)
    if run.rank:
        return int(status["exit_code"])
    write_status(args.output, status, run.state)
    if status["exit_code"]:
        print(f"{status['status']}: {status['message']}", file=sys.stderr)
    else:
        print(f"finished: {json.dumps(status['eval'])}")
    return int(status["exit_code"])


def check_version(settings: Settings) -> None:
    """Refuse a version of the framework that the script was not written for."""
    version = next(iter(versions().values()))
    found = tuple(map(int, re.findall(r"\d+", version)[:2]))
    fits = settings.since <= found and (not settings.until or found < settings.until)
    # Development builds may call themselves 0.0.0.
    if any(found) and not fits:
        made_for = f"this script is for {settings.made_for}, not for {version}"
        raise Stop("cannot_run", 3, made_for)


def open_trace(output: Path | None, windows: int) -> TextIO:
    """Open the trace for appending, with the rows of the first `windows` windows.

    Training does not need them: rows that are lost or damaged are told and left out.
    Without a folder nothing is kept.
    """
    if output is None:
        return open(os.devnull, "w")
    path, kept = output / "trace.jsonl", {}
    partial = path.with_suffix(".partial")
    try:
        for line in path.read_bytes().splitlines() if path.is_file() else ():
            try:
                number = json.loads(line.decode())["window"]
            except (KeyError, RecursionError, TypeError, ValueError):
                continue
            if type(number) is int and 0 <= number < windows:
                kept[number] = line + b"\n"
        partial.write_bytes(b"".join(kept[number] for number in sorted(kept)))
        os.replace(partial, path)
        trace = path.open("a")
    except OSError as error:
        raise Stop("failed", 2, f"cannot write {path}: {error}") from None
    if len(kept) < windows:
        lost = f"{windows - len(kept)} of the rows of {windows} windows"
        print(f"{path} lacks {lost}; going on without")
    return trace


def finite(row: dict[str, Any]) -> dict[str, Any]:
    """Replace inf and nan, which JSON does not know, by null."""
    bad = [k for k, v in row.items() if isinstance(v, float) and not math.isfinite(v)]
    return row | dict.fromkeys(bad)


def report(row: dict[str, Any], windows: int, speed: float) -> None:
    """Print one line of progress."""
    left = (windows - row["window"] - 1) / speed
    print(
        f"window {row['window'] + 1}/{windows}  loss {row['loss']:.4f}  "
        f"lr {row['lr']:.3g}  grad norm {row['grad_norm']:.3g}  "
        f"scale {row['scale']:g}  {left:.0f} s left",
        flush=True,
    )


def write_status(
    output: Path, status: dict[str, Any], state: TrainState | None
) -> None:
    """Write status.json, whole, with how far the run came."""
    if state is not None:
        status |= {"windows": state.windows, "updates": state.updates}
    partial = output / "status.partial"
    partial.write_text(json.dumps(status, indent=2) + "\n")
    os.replace(partial, output / "status.json")
