"""The PyTorch backend of crosscast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crosscast.emit.frame import Frame
from crosscast.emit.printer import print_script
from crosscast.emit.render import template_root
from crosscast.memory.records import Device, TracedModel
from crosscast.messages.codes import Code
from crosscast.plan.canonical import canonical_plan, scale_before_schedule
from crosscast.plan.operations import Plan
from crosscast.recipe.document import Recipe, Section
from crosscast.targets.backend import Dialect, File, Form, Lowered
from crosscast.targets.capability import Judgement, Row
from crosscast.targets.defaults import Defaults
from crosscast.targets.framework import Framework
from crosscast.targets.harness import Harness
from crosscast_torch import lower as lowering
from crosscast_torch import memory
from crosscast_torch.codes import CODES
from crosscast_torch.defaults import DEFAULTS
from crosscast_torch.dialects import DIALECTS
from crosscast_torch.framework import FRAMEWORK
from crosscast_torch.harness import HARNESS
from crosscast_torch.overrides import TorchOverrides
from crosscast_torch.rows import ROWS

TEMPLATES = template_root()


@dataclass(frozen=True, slots=True)
class TorchBackend:
    """Emits training scripts with torch.amp or torch.cuda.amp."""

    name: str = "torch"
    title: str = DIALECTS[0].title
    distributions: tuple[str, ...] = ("torch",)
    dialects: tuple[Dialect, ...] = DIALECTS
    rows: tuple[Row, ...] = ROWS
    codes: tuple[Code, ...] = CODES
    defaults: tuple[Defaults, ...] = DEFAULTS
    overrides: type[Section] = TorchOverrides
    templates: Path = TEMPLATES
    framework: Framework = FRAMEWORK
    harness: Harness = HARNESS
    traces_models: bool = True

    def lower(
        self, recipe: Recipe, judgements: Sequence[Judgement], dialect: Dialect, form: Form
    ) -> Lowered:
        """Return plan and files for a recipe that the rows accept."""
        # GradScaler tells of a skip by lowering its scale.
        plan = scale_before_schedule(canonical_plan(recipe))
        return print_script(self, plan, recipe, judgements, dialect, form)

    def print_plan(
        self, plan: Plan, frame: Frame, dialect: Dialect, form: Form
    ) -> tuple[File, ...]:
        """Return the files of a plan."""
        return lowering.files(plan, frame, dialect, self.templates, form)

    def rehearse(
        self, recipe: Recipe, dialect: Dialect, device: Device, traced: TracedModel | None
    ) -> memory.TorchRehearsal:
        """Return what a window of the emitted script allocates."""
        return memory.rehearse(recipe, dialect, device, traced)


BACKEND = TorchBackend()
