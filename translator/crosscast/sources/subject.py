"""The subject of lint rules: a run with its program, training steps, facts and launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast.facts.command import Command
from crosscast.facts.profile import Profile
from crosscast.messages.diagnostics import Diagnostic
from crosscast.messages.source import Source

if TYPE_CHECKING:
    from crosscast.pysource.programs.program import Program
    from crosscast.trainstep.events import TrainingStep

_TRAINING = ("optimizer.", "accumulation.", "loss_scaling.", "clipping.", "schedule.")
"""Fields that only programs and settings of training speak of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """All that is known of the sources that belong together."""

    sources: Sequence[Source]
    program: Program | None
    """None if there is no Python among them."""
    steps: Sequence[TrainingStep]
    profile: Profile
    commands: Sequence[Command]
    unread: Sequence[Diagnostic] = ()
    """What readers did not understand: syntax errors, Python 2, settings that contradict."""

    @property
    def trains(self) -> bool:
        """Whether the program computes gradients or starts something that does."""
        if self.steps or self.commands:
            return True
        return any(fact.field.startswith(_TRAINING) for fact in self.profile)
