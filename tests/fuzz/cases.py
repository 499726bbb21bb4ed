"""Fuzzed cases: the one strategy, and cases as files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

from crosscast.recipe.document import Recipe
from crosscast.recipe.validate import build_recipe
from crosscast.recipe.yaml_source import parse
from crosscast.recipe.yaml_text import recipe_text
from crosscast_parity.toy.faults import Faults
from fuzz.faults import from_json, schedules, to_json
from recipe_strategies import recipes


@dataclass(frozen=True)
class Case:
    """A recipe and the course of its run."""

    recipe: Recipe
    faults: Faults

    def texts(self) -> tuple[str, str]:
        """Return recipe and course as files hold them."""
        return recipe_text(self.recipe), to_json(self.faults)

    def save(self, folder: Path, name: str) -> tuple[Path, Path]:
        """Write both and return their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        paths = (folder / f"{name}.yaml", folder / f"{name}.json")
        for path, text in zip(paths, self.texts(), strict=True):
            path.write_text(text)
        return paths


def load(recipe: Path, faults: Path) -> Case:
    """Read a case that `save` wrote.

    Raises:
        DiagnosticError: The recipe is not valid.
        OSError: There is no such file.
    """
    return Case(build_recipe(parse(recipe.read_text(), str(recipe))), from_json(faults.read_text()))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Any recipe, and any course that it allows."""
    recipe = draw(recipes())
    return Case(recipe, draw(schedules(recipe)))
