"""Commands that only evaluate or infer, and so say nothing about training."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from crosscast_reading.facts.command import Command
from crosscast_reading.readers.settings import normal

_EVALUATES = re.compile(
    r"(run_|do_)?(eval|evaluate|evaluation|test|infer|inference|predict|generate|sample|demo)"
    r"(_(?!\w*(train|tun(e|ing)|learn|fit\b))\w+)?"
)
_ABOUT_TRAINING = re.compile(r"train|learn|optim|\blr\b|warm|sched|accum|epoch|decay|loss|clip")


def evaluates(command: Command) -> bool:
    """Whether a program evaluates, by its name, and nothing of its command is about training."""
    names = {normal(flag.expression) for flag in command.flags}
    stem = PurePosixPath(command.program).stem.lower()
    return bool(_EVALUATES.fullmatch(stem)) and not any(map(_ABOUT_TRAINING.search, names))
