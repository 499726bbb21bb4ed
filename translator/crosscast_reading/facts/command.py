"""A command that starts a program, as a launch script or a user gives it."""

from __future__ import annotations

from dataclasses import dataclass

from crosscast_reading.facts.fact import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A program that a script starts: `python train.py --fp16`, with its place."""

    program: str
    """Path of the Python file as written, or `-m` module name."""
    flags: tuple[Fact, ...] = ()
    """One fact a flag: `expression` is the flag with its dashes, `value` its text (True for a bare
    switch), `field` is `command.flag`."""
    environment: tuple[Fact, ...] = ()
    """Exported or prefixed variables: `expression` is the name; `field` is `command.variable`."""
    launcher: str = ""
    """torchrun, torch.distributed.launch, deepspeed, accelerate, paddle, horovodrun, mpirun, srun;
    jsrun too."""
    processes: Fact | None = None
    nodes: Fact | None = None
    """On how many machines, where more than one is said."""
