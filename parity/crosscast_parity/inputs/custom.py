"""The inputs of runs that train the user's models: rows of their data, the same weights for all."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from crosscast.data.npz import read_arrays
from crosscast.recipe.document import Recipe
from crosscast.weights.convert import Kind, canonical_arrays, framework_arrays
from crosscast.weights.document import WeightsMap
from crosscast_parity.inputs.npz import save_npz
from crosscast_parity.inputs.shared import Inputs, shares_of_eval
from crosscast_parity.inputs.stored import stored_rows
from crosscast_parity.inputs.weights import perturb, save
from crosscast_parity.recipes.window_rows import brief_rows, short_epoch
from crosscast_parity.recordings.observations import Observation, ObservedWindow, Tensors
from crosscast_parity.recordings.roles import Roles

EVAL_ROWS = 125
"""The last batch of an evaluation is a short one."""
TWIN = 1e-6
"""Relative change of the weights of perturbed runs: more than for BERT, because functions with a
kink make much of rounding, and only sometimes."""
SHIFT = 1e-5
"""Relative change of weights that is larger than what frameworks round differently."""
Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """The model of a framework.

    `arrays`: all its tensors as its factory draws them. `roles`: of those that are trained.
    `counters`: tensors that only count.
    """

    arrays: Arrays
    roles: Roles
    counters: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomModels:
    """The models of a recipe, by framework, and which weight of one is which of another.

    `start`: canonical weights that runs begin with, those of the first framework's factory.
    `starts`: others that it draws, by seed. `drawn`: others, with which every layer has an effect.
    `statistics`: canonical names of running statistics. `folder`: of the recipe.
    `other_variances`: by framework the running variances to which it adds another variance of a
    batch, biased or unbiased, than the first one.
    """

    known: WeightsMap
    models: Mapping[str, Trained]
    start: Arrays
    drawn: Arrays
    statistics: frozenset[str]
    folder: Path
    starts: Mapping[int, Arrays] = field(default_factory=dict)
    other_variances: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """A hash of which tensor is which, and what is known of it."""
        roles = {
            framework: [(name, sorted(roles_of)) for name, roles_of in sorted(model.roles.items())]
            for framework, model in self.models.items()
        }
        text = repr((self.known.entries, roles, sorted(self.statistics)))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def count(self) -> int:
        """The number of weights that the first framework trains."""
        first = self.models[self.known.frameworks[0]]
        return sum(first.arrays[name].size for name in first.roles)

    def of(self, framework: str, canonical: Arrays) -> dict[str, np.ndarray]:
        """Return canonical weights as all tensors of a framework, its own counters among them."""
        return {
            **self.models[framework].arrays,
            **framework_arrays(canonical, self.known, framework),
        }

    def statistics_of(self, arrays: Arrays, framework: str) -> dict[str, np.ndarray]:
        """Return the running statistics among the tensors of a framework, by canonical name."""
        tensors = canonical_arrays(arrays, self.known, framework)
        return {name: array for name, array in tensors.items() if name in self.statistics}

    def variances_apart(self, framework: str, other: str) -> frozenset[str]:
        """Return the running variances to which two frameworks add another one of a batch."""
        ours, theirs = (self.other_variances.get(f, frozenset()) for f in (framework, other))
        return ours ^ theirs

    def trained(self, observation: Observation, framework: str) -> Observation:
        """Return the observation of the weights that are trained, with their roles."""
        roles = self.models[framework].roles
        windows = (_trained(window, roles) for window in observation.windows)
        return replace(observation, windows=tuple(windows))

    def canonical(self, observation: Observation, framework: str) -> Observation:
        """Return an observation by canonical names, in the canonical layout.

        Without biases that are frozen where another framework has only their sum with another one.
        """
        frozen = frozen_terms(self.known)

        def turned(arrays: Tensors, kind: Kind) -> Tensors:
            tensors = canonical_arrays(arrays, self.known, framework, kind)
            return {name: array for name, array in tensors.items() if name not in frozen}

        windows = (
            replace(
                window,
                before=turned(window.before, "weights"),
                after=turned(window.after, "weights"),
                total=turned(window.total, "gradients"),
                first=turned(window.first, "gradients"),
                applied=turned(window.applied, "gradients"),
                known={},
            )
            for window in observation.windows
        )
        return replace(observation, windows=tuple(windows))


def frozen_terms(known: WeightsMap) -> dict[str, str]:
    """Return biases that are frozen where another framework has only their sum with another one.

    By canonical name, with that of the other one.
    """
    terms = {}
    for framework in known.frameworks:
        for held in known.of(framework).values():
            if held[0][1].layout.term is None:
                continue
            first, *others = (entry for entry, _ in held)
            for entry in others:
                if any(place.frozen for place in entry.places.values()):
                    terms[entry.name] = first.name
    return terms


def _trained(window: ObservedWindow, roles: Roles) -> ObservedWindow:
    def chosen(arrays: Tensors) -> Tensors:
        return {name: arrays[name] for name in arrays if name in roles}

    return replace(
        window,
        before=chosen(window.before),
        after=chosen(window.after),
        average=chosen(window.average),
        known={name: roles[name] for name in window.before if name in roles},
    )


def write_custom_inputs(
    recipe: Recipe, folder: Path, twins: int, windows: int, custom: CustomModels
) -> Inputs:
    """Write rows for some windows, and weights for every framework, below `folder`.

    The rows are some of the recipe's data, spread over them: as many that an epoch ends within the
    run, with a short window.

    Raises:
        DiagnosticError: CC601, CC602 for rows that cannot be read.
    """
    folder.mkdir(parents=True, exist_ok=True)
    batch, whole = recipe.batch, max(1, 2 * windows // 3)
    wanted = short_epoch(batch.global_batch_size, batch.micro_batch_size, whole)
    train = spread_rows(recipe, "train", wanted, folder, custom.folder)
    evaluation = spread_rows(recipe, "eval", EVAL_ROWS, folder, custom.folder)
    few, held = shares_of_eval(recipe)
    start = custom.starts.get(recipe.seed, custom.start)
    starts = {
        "weights": start,
        "stress": custom.drawn,
        **{f"twin-{n}": perturb(start, recipe.seed + n, TWIN) for n in range(1, twins + 1)},
        "shifted": perturb(start, seed=recipe.seed, relative=SHIFT),
        "shifted-stress": perturb(custom.drawn, seed=recipe.seed, relative=SHIFT),
    }
    for framework in custom.models:
        (folder / framework).mkdir(exist_ok=True)
        for name, canonical in starts.items():
            path = folder / framework / f"{name}.safetensors"
            save(path, custom.of(framework, canonical))
    first = folder / custom.known.frameworks[0]
    return Inputs(
        train=_first(train, wanted, folder / "train.npz"),
        brief=_first(train, brief_rows(recipe), folder / "brief.npz"),
        eval=_first(evaluation, EVAL_ROWS, folder / "eval.npz"),
        few=_first(evaluation, few, folder / "few.npz"),
        held=_first(evaluation, held, folder / "held.npz"),
        weights=first / "weights.safetensors",
        stress=first / "stress.safetensors",
        twins=tuple(first / f"twin-{n}.safetensors" for n in range(1, twins + 1)),
        shifted=(first / "shifted.safetensors", first / "shifted-stress.safetensors"),
        count=custom.count,
    )


def spread_rows(
    recipe: Recipe, split: str, count: int, folder: Path, beside: Path
) -> dict[str, np.ndarray]:
    """Return so many rows of a recipe's data, or all, spread over them.

    Args:
        recipe: The recipe.
        split: `train` or `eval`.
        count: How many.
        folder: For files on the way.
        beside: What the paths and modules of the recipe are relative to.

    Raises:
        DiagnosticError: CC601, CC602 for rows that cannot be read.
    """
    path = stored_rows(recipe, split, folder / "rows", beside=beside, count=count, evenly=True)
    arrays = read_arrays(path)
    chosen = spread(min(map(len, arrays.values()), default=0), count)
    return {name: array[chosen] for name, array in arrays.items()}


def spread(rows: int, count: int) -> np.ndarray:
    """Return the numbers of so many of all rows, evenly, because neighbours may be alike."""
    return np.linspace(0, max(rows - 1, 0), min(rows, count)).astype(np.int64)


def _first(rows: Arrays, count: int, path: Path) -> Path:
    save_npz(path, {name: array[:count] for name, array in rows.items()})
    return path
