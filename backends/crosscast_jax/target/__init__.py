"""The JAX backend of crosscast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from crosscast.emit.frame import Frame
from crosscast.emit.printer import print_script
from crosscast.emit.render import template_root
from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Plan
from crosscast.recipe.document import Recipe, Section
from crosscast.targets.backend import Dialect, File, Form, Lowered
from crosscast.targets.capability import Judgement, Row
from crosscast_jax import TEXTS
from crosscast_jax.target import lower as lowering
from crosscast_jax.target.dialects import DIALECTS
from crosscast_jax.target.overrides import JaxOverrides
from crosscast_jax.target.rows import ROWS

if TYPE_CHECKING:
    from crosscast.messages.code import Code
    from crosscast.targets.defaults import Defaults
    from crosscast.targets.framework import Framework
    from crosscast.targets.harness import Harness

TEMPLATES = template_root()


@dataclass(frozen=True, slots=True)
class JaxBackend:
    """Emits training scripts for JAX: Flax NNX modules, one compiled function per window."""

    name: str = "jax"
    title: str = DIALECTS[0].title
    distributions: tuple[str, ...] = ("jax", "flax", "optax")
    dialects: tuple[Dialect, ...] = DIALECTS
    rows: tuple[Row, ...] = ROWS
    overrides: type[Section] = JaxOverrides
    templates: Path = TEMPLATES
    texts: Path = TEXTS

    @property
    def codes(self) -> tuple[Code, ...]:
        """Diagnostic codes that the rows use."""
        from crosscast_jax.target.codes import CODES

        return CODES

    @property
    def defaults(self) -> tuple[Defaults, ...]:
        """Default values of the framework's APIs, by version."""
        from crosscast_jax.target.defaults import DEFAULTS

        return DEFAULTS

    @property
    def framework(self) -> Framework:
        """Names, weights and users' models."""
        from crosscast_jax.target.framework import FRAMEWORK

        return FRAMEWORK

    @property
    def harness(self) -> Harness:
        """Information for `crosscast parity` to observe the scripts."""
        from crosscast_jax.target.harness import HARNESS

        return HARNESS

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


BACKEND = JaxBackend()
