"""The command line of a run."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from .settings import Settings

AddOptions = Callable[[argparse.ArgumentParser], None]


def parse_arguments(
    settings: Settings, argv: list[str] | None, add_options: AddOptions | None = None
) -> argparse.Namespace:
    """Read the command line."""
    description = f"Train with {settings.made_for}."
    parser = argparse.ArgumentParser(description=description)
    add, every = parser.add_argument, settings.checkpoint_every
    add("--train", type=Path, default=settings.train, help="training rows")
    add("--eval", type=Path, default=settings.eval, help="evaluation rows")
    add("--weights", type=Path, help="initial weights, safetensors")
    add("--output", type=Path, default=settings.output, help="folder for results")
    add("--resume", action="store_true", help="go on from the checkpoint")
    add("--auto-resume", action="store_true", help="--resume if there is a checkpoint")
    add("--windows", type=positive, default=settings.windows, help="windows to train")
    add("--checkpoint-every", type=positive, default=every, help="in windows")
    add("--log-every", type=positive, default=10, help="in windows")
    add("--device", choices=("auto", "cpu", "gpu"), default="auto")
    add("--threads", type=threads, help="CPU threads")
    add("--workers", type=natural, default=settings.workers, help="that read rows")
    if add_options is not None:
        add_options(parser)
    return parser.parse_args(argv)


def positive(text: str) -> int:
    """Parse a positive integer."""
    value = int(text)
    if not 0 < value < 2**31:
        raise ValueError(text)
    return value


def natural(text: str) -> int:
    """Parse an integer that is not negative."""
    return positive(text) if int(text) else 0


def threads(text: str) -> int:
    """Parse a number of threads that a system may start."""
    if not 0 < int(text) <= 4096:
        raise ValueError(text)
    return int(text)
