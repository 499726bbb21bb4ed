"""The subject of lint rules: a run with its program, training steps, facts and launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Diagnostic
from crosscast.messages.source import Source
from crosscast_reading.facts.command import Command
from crosscast_reading.facts.profile import Profile

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.trainstep.events import TrainingStep

_TRAINING = ("optimizer.", "accumulation.", "loss_scaling.", "clipping.", "schedule.")
"""Fields that occur only in programs and settings of training."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The results of reading a group of sources."""

    sources: Sequence[Source]
    program: Program
    """Without modules if there are no Python files."""
    steps: Sequence[TrainingStep]
    profile: Profile
    commands: Sequence[Command]
    unread: Sequence[Diagnostic] = ()
    """Problems of the readers: syntax errors, Python 2, contradictory settings."""
    allowed: frozenset[str] = frozenset()
    """Names of changes of meaning that a migration may make."""
    beside: Sequence[Source] = ()
    """All sources of a migration, including those of other programs."""

    @property
    def trains(self) -> bool:
        """Whether the program computes gradients or starts a trainer."""
        if self.steps or self.commands:
            return True
        return any(fact.field.startswith(_TRAINING) for fact in self.profile)
