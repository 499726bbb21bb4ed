"""A backend for toygrad, the framework of one file beside it: what adding a framework takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crosscast.emit.frame import Frame
from crosscast.emit.printer import print_script
from crosscast.messages.codes import Code
from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Plan
from crosscast.recipe.document import Recipe, Section
from crosscast.targets.backend import Dialect, File, Form, Lowered
from crosscast.targets.capability import Judgement, Row
from crosscast.targets.defaults import Defaults
from crosscast.targets.framework import Framework, OwnModel, Weights
from crosscast.targets.harness import Harness
from crosscast_toy import lower as lowering
from crosscast_toy.overrides import ToyOverrides
from crosscast_toy.rows import CODES, ROWS

FRAMEWORK = Framework(
    module="toygrad",
    word="toygrad",
    weights=Weights(
        kernel="(out, in)",
        own="paths of attributes: `net.dense.weight`",
        evidence="package/test_plugin.py::test_a_training_state_goes_on_in_another_framework",
    ),
    own_model=OwnModel(
        imported="from toygrad import Module",
        returns="Module",
        called="model(input_ids=..., ...), one keyword an array of the npz file but labels",
        answer="a toygrad.Tensor of logits [rows, classes]",
    ),
)
HARNESS = Harness(inside="crosscast_toy.inside", packages=("crosscast-toy",))


@dataclass(frozen=True)
class ToyBackend:
    """Emits training scripts for toygrad: float32, one process, AdamW."""

    name: str = "toy"
    title: str = "toygrad"
    distributions: tuple[str, ...] = ("crosscast-toy",)
    dialects: tuple[Dialect, ...] = (
        Dialect(
            name="toygrad",
            title="toygrad 1",
            since="1",
            requirements=("crosscast-toy", "numpy", "safetensors"),
        ),
    )
    rows: tuple[Row, ...] = ROWS
    codes: tuple[Code, ...] = CODES
    defaults: tuple[Defaults, ...] = ()
    overrides: type[Section] = ToyOverrides
    templates: Path = Path(__file__).parent / "templates"
    texts: Path = Path(__file__).parent / "texts"
    framework: Framework = FRAMEWORK
    harness: Harness = HARNESS

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


BACKEND = ToyBackend()
