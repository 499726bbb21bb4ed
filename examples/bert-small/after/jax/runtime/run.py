"""Run a training loop: command line, trace, progress, checkpoints and status."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import math
import re
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

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
from .folder import finite, open_trace, take_folder, write_status
from .loader import load
from .rows import evaluated_rows, row_numbers
from .settings import Settings, Stop
from .sources import Batch, Rows, open_both
from .state import TrainState, ema_arrays, model_arrays, restore_model

PATIENCE = 25  # overflowed windows in a row at the lowest scale before the run stops
TWICE = 5.0  # seconds within which a second signal is the same one: launchers repeat it

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
        self.interrupted: float | None = None  # when a signal asked for the end
        self.busy = False  # with a window: half of one cannot be saved
        self.unsaved = False  # whether windows were trained since the last checkpoint
        self.saved: int | None = None  # windows in that checkpoint

    def listen(self) -> None:
        """Take the signals of a queue, of a launcher and of Ctrl-C."""
        signal.signal(signal.SIGUSR1, lambda number, frame: self.asked.append(number))
        signal.signal(signal.SIGTERM, self.interrupt)
        if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:  # a shell's background
            signal.signal(signal.SIGINT, self.interrupt)

    def interrupt(self, number: int, frame: Any) -> None:
        """End the run: between windows at once, within one at its end."""
        now, before = time.monotonic(), self.interrupted
        if before is None:
            self.interrupted = now
            # Workers may hear the signal too, and what tells of their end would raise.
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        if not self.busy if before is None else now - before > TWICE:
            raise KeyboardInterrupt

    def keep(self) -> str:
        """Save what an interrupted run has trained; return what is to be said of it."""
        if self.unsaved and not self.busy:
            self.checkpoint(self.state)
        if self.saved is None:
            first = "anything was saved" if self.unsaved else "a window was trained"
            return f"interrupted before {first}"
        return f"interrupted: --resume goes on after {self.saved} windows"

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
            most = args.windows
            counters = load_checkpoint(checkpoint, state, settings, self.n_rows, most)
            self.stuck = counters.get("stuck", 0)
            self.saved = state.windows
        self.first, self.started = state.windows, time.perf_counter()
        left = 3 if self.rank else 1  # windows: the first process needs the others
        batches = contextlib.closing(self.batches(rows, self.first))
        trace = open_trace(None if self.rank else args.output, self.first)
        with trace as self.trace, batches as windows:
            for window in windows:
                self.busy = True
                yield window
                self.busy = self.rank > 0
                left -= self.interrupted is not None
                if not left:
                    raise KeyboardInterrupt
        self.busy = False

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
        args, self.unsaved = self.args, True
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
            self.checkpoint(state)

    def checkpoint(self, state: TrainState) -> None:
        """Write a checkpoint, from which the run can go on after this window."""
        if not self.rank:
            path = self.args.output / "checkpoint.safetensors"
            save_checkpoint(path, state, self.settings, self.n_rows, self.stuck)
        self.unsaved, self.saved = False, state.windows

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

    def progress(self) -> dict[str, int]:
        """Return how far the run came, for status.json."""
        state = self.state
        if state is None:
            return {}
        return {"windows": state.windows, "updates": state.updates}

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
    try:
        if argv is None:
            run.listen()
        run.rank = process_rank()
        folder = take_folder(args.output, run.rank)
    except (Stop, ValueError) as error:
        print(f"failed: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"stopped: {run.keep()}", file=sys.stderr)
        return 130
    with folder:
        return carry_out(run, train)


def carry_out(run: Run, train: Callable[[Run], dict[str, float]]) -> int:
    """Train in a folder that is taken; write status.json; return the exit code."""
    settings, args = run.settings, run.args
    status: dict[str, Any] = {"status": "finished", "exit_code": 0, "message": ""}
    status |= {"windows": 0, "updates": 0, "eval": None}
    try:
        check_version(settings)
        run.device = select_device(args, settings)
        status |= {"device": describe_device(run.device), "versions": versions()}
        try:
            status["eval"] = finite(train(run))
        except KeyboardInterrupt:
            raise Stop("stopped", 130, run.keep()) from None
    except Stop as stop:
        status |= {"status": stop.status, "exit_code": stop.exit_code}
        status["message"] = str(stop)
    except KeyboardInterrupt:  # at the start, or again while the run is saved
        status |= {"status": "stopped", "exit_code": 130}
        status["message"] = run.keep() if run.state is None else "interrupted"
    except Exception as error:
        status |= {"status": "failed", "exit_code": 1, "message": repr(error)}
        if not lost_process(error):
            if not run.rank:
                write_status(args.output, status | run.progress())
            raise  # a fault of the script or of the framework, not of its use
        reason = str(error).strip().partition("\n")[0] or repr(error)
        lost = f"another process has ended, or cannot be reached: {reason}"
        status["message"] = lost
    leave_processes(run.state, settings)
    if run.rank:
        return int(status["exit_code"])
    write_status(args.output, status | run.progress())
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


def report(row: dict[str, Any], windows: int, speed: float) -> None:
    """Print one line of progress."""
    left = (windows - row["window"] - 1) / speed
    print(
        f"window {row['window'] + 1}/{windows}  loss {row['loss']:.4f}  "
        f"lr {row['lr']:.3g}  grad norm {row['grad_norm']:.3g}  "
        f"scale {row['scale']:g}  {left:.0f} s left",
        flush=True,
    )
