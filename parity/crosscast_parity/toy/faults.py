"""What happens in a run of the toy: its windows, and where gradients are large or not finite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PARAMETERS = ("kernel", "bias", "gamma", "beta", "embeddings")


@dataclass(frozen=True)
class Fault:
    """One micro-batch in which some gradients of one parameter are not finite."""

    window: int
    micro_batch: int
    parameter: str
    value: float


@dataclass(frozen=True)
class Faults:
    """The course of a run.

    `windows` holds the rows of every micro-batch of every window, `surges` powers of two by which
    all gradients of a window are larger: they may overflow by themselves in half precision.
    """

    seed: int
    windows: tuple[tuple[int, ...], ...]
    surges: Mapping[int, int] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
