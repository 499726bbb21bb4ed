"""A backend for a framework that does not exist: it prints the training step as a list."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from crosscast.emit.lowering import shared_view
from crosscast.messages.codes import Code
from crosscast.plan.canonical import canonical_plan
from crosscast.recipe.document import Recipe, Section
from crosscast.targets.backend import Dialect, File, Form, Lowered
from crosscast.targets.capability import Evidence, Row, Verdict
from crosscast.targets.defaults import Defaults


def _bfloat16(recipe: Recipe) -> bool:
    return recipe.precision.compute_dtype == "bfloat16"


class ToyOverrides(Section):
    """Settings below `overrides.toy`."""

    shout: bool = False
    """Print capitals."""


@dataclass(frozen=True)
class ToyBackend:
    """The smallest backend that does everything the protocol asks for."""

    name: str = "toy"
    title: str = "Toy"
    distributions: tuple[str, ...] = ("crosscast-toy",)
    dialects: tuple[Dialect, ...] = (Dialect(name="toy", since="1"),)
    rows: tuple[Row, ...] = (
        *(
            Row(path=path, how="printed", evidence=Evidence.DOCUMENTED)
            for path in ("seed", "activation_checkpointing", *Recipe.SECTIONS)
        ),
        Row(
            path="precision.compute_dtype",
            verdict=Verdict.UNSUPPORTED,
            how="the toy knows no bfloat16",
            code="TOY1",
            probe="toy",
            when=_bfloat16,
        ),
    )
    codes: tuple[Code, ...] = (Code("TOY1", "no bfloat16", "Use float16."),)
    defaults: tuple[Defaults, ...] = ()
    overrides: type[Section] = ToyOverrides
    templates: Path = Path(__file__).parent / "templates"

    def lower(self, recipe: Recipe, dialect: Dialect, form: Form) -> Lowered:
        """Return the canonical plan and one file that lists it."""
        plan = canonical_plan(recipe)
        shout = ToyOverrides.model_validate(recipe.overrides.get("toy", {})).shout
        view = shared_view(recipe, plan, self.title, form)
        view["ops"] = [op.kind.upper() if shout else op.kind for op in plan]
        return Lowered(
            plan=plan, files=(File(path="plan.txt", template="plan.txt.j2", view={"view": view}),)
        )


BACKEND = ToyBackend()
