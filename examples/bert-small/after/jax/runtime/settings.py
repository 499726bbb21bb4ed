"""What train.py tells the other modules of this folder; which files they take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


class Stop(Exception):
    """End of the run with a status, an exit code and a message for the user."""

    def __init__(self, status: str, exit_code: int, message: str) -> None:
        super().__init__(message)
        self.status, self.exit_code = status, exit_code


def regular(path: Path) -> Path:
    """Return the path of a file; of a pipe one would wait, and a device has no end.

    Raises:
        OSError: it is there, and no regular file.
    """
    if path.exists() and not path.is_file():
        raise OSError("it is not a regular file")
    return path


@dataclass(frozen=True)
class Settings:
    """Facts about the recipe that reading, saving and reporting depend on.

    `recipe`: fingerprint; a checkpoint of another one is refused. `made_for`, `since`,
    `until`: versions of the framework. `train`, `eval`, `output`: defaults of the
    command line; the first two may be your functions. `source`: where the rows come
    from, as in the recipe. `workers`: how many processes read them.
    `pad_to_multiple_of`, `pad_values`: padding of rows that vary in length.
    `image_size`: height and width. `limits`: inputs of the model and the numbers below
    which their values lie; None if every array is taken as it is. `target`: the array
    that the loss takes; None for no such array. `classes`: whether it holds numbers of
    classes. `unlabelled`: whether one of them may be -100. `slots`: moments of the
    optimizer. `betas`: where it counts updates by their powers. `scale`: least and
    largest loss scale, 0.0 and inf for no limit; None if no loss is scaled. `counts`:
    the clean and the overflowed windows at which it changes. `half`: the type that the
    device must compute in; empty if any will do.
    """

    recipe: str
    made_for: str
    since: tuple[int, int]
    train: str | Callable[[], Any]
    eval: str | Callable[[], Any]
    output: str
    seed: int
    micro_batch_size: int
    accumulation_steps: int
    windows: int
    checkpoint_every: int
    until: tuple[int, int] | None = None
    processes: int = 1
    shuffle: bool = True
    tail: str = "short"
    source: str = "npz"
    data_hint: str = ""
    workers: int = 0
    pad_to_multiple_of: int = 1
    pad_values: Mapping[str, float] = field(default_factory=dict)
    image_size: tuple[int, int] | None = None
    limits: Mapping[str, int] | None = None
    max_positions: int = 0
    target: str | None = "labels"
    classes: bool = True
    unlabelled: bool = False
    slots: tuple[str, ...] = ()
    betas: tuple[float, ...] = ()
    scale: tuple[float, float] | None = None
    counts: tuple[int, int] = (2**31, 2**31)
    averages: bool = False
    half: str = ""
    tf32: bool = False
    recomputed_dropout: bool = False

    @property
    def global_batch_size(self) -> int:
        """Rows of a full window, of all processes together."""
        return self.micro_batch_size * self.accumulation_steps * self.processes
