"""The TensorFlow/Keras backend of crosscast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crosscast.emit.frame import Frame
from crosscast.emit.printer import print_script
from crosscast.emit.render import template_root
from crosscast.memory.records import Device, TracedModel
from crosscast.messages.codes import Code
from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Plan
from crosscast.recipe.document import Recipe, Section
from crosscast.targets.backend import Dialect, File, Form, Lowered
from crosscast.targets.capability import Judgement, Row
from crosscast.targets.defaults import Defaults
from crosscast.targets.framework import Framework
from crosscast.targets.harness import Harness
from crosscast_tensorflow import lower as lowering
from crosscast_tensorflow import memory
from crosscast_tensorflow.codes import CODES
from crosscast_tensorflow.defaults import DEFAULTS
from crosscast_tensorflow.dialects import DIALECTS
from crosscast_tensorflow.framework import FRAMEWORK
from crosscast_tensorflow.harness import HARNESS
from crosscast_tensorflow.overrides import TensorflowOverrides
from crosscast_tensorflow.rows import ROWS

TEMPLATES = template_root()


@dataclass(frozen=True, slots=True)
class TensorflowBackend:
    """Emits training scripts with Keras models and a custom loop in TensorFlow."""

    name: str = "tensorflow"
    title: str = DIALECTS[0].title
    distributions: tuple[str, ...] = ("tensorflow", "tensorflow-cpu")
    dialects: tuple[Dialect, ...] = DIALECTS
    rows: tuple[Row, ...] = ROWS
    codes: tuple[Code, ...] = CODES
    defaults: tuple[Defaults, ...] = DEFAULTS
    overrides: type[Section] = TensorflowOverrides
    templates: Path = TEMPLATES
    framework: Framework = FRAMEWORK
    harness: Harness = HARNESS
    traces_models: bool = False

    def lower(
        self, recipe: Recipe, judgements: Sequence[Judgement], dialect: Dialect, form: Form
    ) -> Lowered:
        """Return plan and files for a recipe that the rows accept."""
        plan = canonical_plan(recipe)
        return print_script(self, plan, recipe, judgements, dialect, form)

    def print_plan(
        self, plan: Plan, frame: Frame, dialect: Dialect, form: Form
    ) -> tuple[File, ...]:
        """Return the files of a plan."""
        return lowering.files(plan, frame, dialect, self.templates, form)

    def rehearse(
        self, recipe: Recipe, dialect: Dialect, device: Device, traced: TracedModel | None
    ) -> memory.TensorflowRehearsal | None:
        """Return what a window of the emitted script allocates; None if that is not modelled."""
        return memory.rehearse(recipe, device) if memory.modelled(recipe, dialect) else None


BACKEND = TensorflowBackend()
