"""The Paddle backend of crosscast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from crosscast.emit.frame import Frame
from crosscast.emit.printer import print_script
from crosscast.emit.render import template_root
from crosscast.plan.canonical import canonical_plan, scale_before_schedule
from crosscast.plan.operations import Plan
from crosscast.recipe.document import Recipe, Section
from crosscast.targets.backend import Dialect, File, Form, Lowered
from crosscast.targets.capability import Judgement, Row
from crosscast_paddle import TEXTS
from crosscast_paddle.target import fleet
from crosscast_paddle.target import lower as lowering
from crosscast_paddle.target.classic_rows import CLASSIC_ROWS
from crosscast_paddle.target.classic_scripts import CLASSIC_DIALECTS, LAUNCH_ONLY
from crosscast_paddle.target.dialects import DIALECTS
from crosscast_paddle.target.fleet_rows import FLEET_ROWS
from crosscast_paddle.target.overrides import PaddleOverrides
from crosscast_paddle.target.rows import ROWS

if TYPE_CHECKING:
    from crosscast.memory.records import Device, TracedModel
    from crosscast.messages.code import Code
    from crosscast.targets.defaults import Defaults
    from crosscast.targets.framework import Framework
    from crosscast.targets.harness import Harness
    from crosscast_paddle.target import memory

TEMPLATES = template_root()
DYGRAPHS = frozenset(dialect.name for dialect in DIALECTS)
DYGRAPH_ROWS = tuple(replace(row, dialects=row.dialects or DYGRAPHS) for row in ROWS)


@dataclass(frozen=True, slots=True)
class PaddleBackend:
    """Emits paddle.amp training scripts, and flags for the classic ones."""

    name: str = "paddle"
    title: str = DIALECTS[0].title
    distributions: tuple[str, ...] = ("paddlepaddle", "paddlepaddle-gpu")
    dialects: tuple[Dialect, ...] = (*DIALECTS, fleet.FLEET, *CLASSIC_DIALECTS)
    rows: tuple[Row, ...] = (*DYGRAPH_ROWS, *FLEET_ROWS, *CLASSIC_ROWS)
    overrides: type[Section] = PaddleOverrides
    templates: Path = TEMPLATES
    texts: Path = TEXTS

    @property
    def codes(self) -> tuple[Code, ...]:
        """Diagnostic codes that the rows use."""
        from crosscast_paddle.target.classic_codes import CLASSIC_CODES
        from crosscast_paddle.target.codes import CODES
        from crosscast_paddle.target.fleet_codes import FLEET_CODES

        return (*CODES, *FLEET_CODES, *CLASSIC_CODES)

    @property
    def defaults(self) -> tuple[Defaults, ...]:
        """Default values of the framework's APIs, by version."""
        from crosscast_paddle.target.defaults import DEFAULTS

        return DEFAULTS

    @property
    def framework(self) -> Framework:
        """Names, weights and users' models."""
        from crosscast_paddle.target.framework import FRAMEWORK

        return FRAMEWORK

    @property
    def harness(self) -> Harness:
        """Information for `crosscast parity` to observe the scripts."""
        from crosscast_paddle.target.harness import HARNESS

        return HARNESS

    def lower(
        self, recipe: Recipe, judgements: Sequence[Judgement], dialect: Dialect, form: Form
    ) -> Lowered:
        """Return plan and files for a recipe that the rows accept."""
        if LAUNCH_ONLY in dialect.features:
            from crosscast_paddle.target import classic

            return classic.lower(recipe, judgements, self.templates, dialect, form)
        # GradScaler tells of a skip by the counters that its update() changes, and so does fleet.
        plan = scale_before_schedule(canonical_plan(recipe))
        return print_script(self, plan, recipe, judgements, dialect, form)

    def print_plan(
        self, plan: Plan, frame: Frame, dialect: Dialect, form: Form
    ) -> tuple[File, ...]:
        """Return the files of a plan for a dialect that emits a script."""
        if fleet.STATIC in dialect.features:
            return fleet.files(plan, frame, dialect, form)
        return lowering.files(plan, frame, self.templates, dialect, form)

    def rehearse(
        self, recipe: Recipe, dialect: Dialect, device: Device, traced: TracedModel | None
    ) -> memory.PaddleRehearsal | None:
        """Return the allocations of a window of the emitted script; None if not modelled."""
        from crosscast_paddle.target import memory

        if not memory.modelled(recipe, dialect):
            return None
        return memory.rehearse(recipe, dialect, device)


BACKEND = PaddleBackend()
