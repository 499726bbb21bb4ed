"""Without its adaptations the emitted step is another training: each is taken out once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast.recipe.document import Recipe
from crosscast.reference.interpreter import Trace
from frameworks.emitted_script import emit, tiny_recipe
from frameworks.subprocesses import run_python
from frameworks.toy_training import make_toy
from gotchas.mutation import ALL, JAX, Mutation
from gotchas.mutations import MUTATIONS, RECIPES, RECIPES_OF_JAX
from tiers import cases, selected

EVERY_RECIPE = RECIPES | RECIPES_OF_JAX
OF_JAX = set(RECIPES_OF_JAX)
EXACT = ("n_micro", "rows", "skipped", "updates", "scale", "lr")
Case = tuple[str, str]
"""Name of the folder, name of the recipe."""


@dataclass(frozen=True)
class Ran:
    """What a step did, and what the reference says of its recipe."""

    answer: dict[str, Any]
    parameters: dict[str, np.ndarray]
    expected: Trace

    def distance(self) -> float:
        """Return how far the run is from the reference; inf if it is another course of events.

        That is the largest error of a final parameter, relative to how far training moved it.
        """
        if "error" in self.answer:
            return np.inf
        for row, other in zip(self.answer["rows"], self.expected.rows, strict=True):
            if any(row[key] != getattr(other, key) for key in EXACT):
                return np.inf
        last = self.expected.rows[-1].parameters
        distances = [
            float(np.abs(found[-1] - last[name]).max() / np.abs(last[name] - found[0]).max())
            for name, found in self.parameters.items()
        ]
        return max(d if np.isfinite(d) else np.inf for d in distances)


Runs = Callable[[str], dict[str, Ran]]


FIRST = {mutation.gotcha: mutation for mutation in reversed(MUTATIONS)}
QUICK = [m for number, m in FIRST.items() if m.target != JAX or number in (26, 28, 33)]
"""One adaptation of every number; three of JAX, which compiles every step."""


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """The steps of a framework that are asked for, whole and faulty, run in one process."""
    recipes, mutations = selected(request, "recipe"), selected(request, "mutation")
    done: dict[str, dict[str, Ran]] = {}

    def of(target: str) -> dict[str, Ran]:
        if target not in done:
            faulty = [mutation for mutation in mutations if mutation.target == target]
            done[target] = run_all(target, tmp_path_factory.mktemp(target), recipes, faulty)
        return done[target]

    return of


def recipe_of(name: str) -> Recipe:
    batch = {"micro_batch_size": 2, "global_batch_size": 8}
    return tiny_recipe(name=name, batch=batch, **EVERY_RECIPE[name])


def run_all(
    target: str, root: Path, whole: Collection[str], mutations: Sequence[Mutation]
) -> dict[str, Ran]:
    recipes = {name: recipe_of(name) for name in EVERY_RECIPE}
    toys = {name: make_toy(recipe) for name, recipe in recipes.items()}
    folders = {name: name for name in whole}
    folders |= {m.name: m.recipe for m in mutations}
    faults = {m.name: m for m in mutations}
    for folder, name in folders.items():
        toys[name].save(emit(recipes[name], target, root / folder, form="step"))
        if folder in faults:
            step = root / folder / "step.py"
            step.write_text(faults[folder].apply(step.read_text()))
    program = Path(__file__).with_name("run_steps.py")
    answers = run_python(
        program, target, target, *(root / folder for folder in folders), timeout=600
    )
    return {
        folder: Ran(
            answers[str(root / folder)],
            parameters(root / folder / "steps.npz"),
            toys[name].expected(recipes[name]),
        )
        for folder, name in folders.items()
    }


def parameters(path: Path) -> dict[str, np.ndarray]:
    if not path.exists():
        return {}
    with np.load(path, allow_pickle=False) as file:
        kept = {name: file[name] for name in file.files if name.startswith("parameters/")}
    return {name.removeprefix("parameters/"): array for name, array in kept.items()}


def marked(target: str) -> Any:
    return getattr(pytest.mark, target)


@pytest.mark.parametrize(
    ("target", "recipe"),
    cases(
        [
            pytest.param(target, recipe, marks=marked(target))
            for target in ALL
            for recipe in EVERY_RECIPE
            if target == JAX or recipe not in OF_JAX
        ],
        quick=[],
        reason="whole steps; `make test` has test_steps",
    ),
)
def test_the_whole_step_is_the_reference(runs: Runs, target: str, recipe: str) -> None:
    ran = runs(target)[recipe]
    assert "error" not in ran.answer
    assert ran.distance() < 1e-4


@pytest.mark.parametrize(
    "mutation",
    cases(
        [pytest.param(m, marks=marked(m.target), id=m.name) for m in MUTATIONS],
        quick=QUICK,
        reason="every adaptation in every framework",
    ),
)
def test_without_the_adaptation_it_is_not(runs: Runs, mutation: Mutation) -> None:
    assert runs(mutation.target)[mutation.name].distance() > 1e-2


@pytest.mark.parametrize("target", ALL)
def test_every_adaptation_stands_in_the_step(tmp_path: Path, target: str) -> None:
    """Those that `make test-all` takes out, too."""
    mutations = [mutation for mutation in MUTATIONS if mutation.target == target]
    texts = {}
    for name in {mutation.recipe for mutation in mutations}:
        recipe = recipe_of(name)
        texts[name] = (emit(recipe, target, tmp_path / name, form="step") / "step.py").read_text()
    for mutation in mutations:
        assert mutation.apply(texts[mutation.recipe]) != texts[mutation.recipe], mutation.name
