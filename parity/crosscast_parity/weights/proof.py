"""Prove a map of weights: with the same weights, models compute the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from crosscast.weights.convert import canonical_arrays, framework_arrays
from crosscast.weights.document import Entry, WeightsMap
from crosscast_parity.weights.drawing import draw
from crosscast_parity.weights.fingerprints import SILENT, distance
from crosscast_parity.weights.model import Model, Part
from crosscast_parity.weights.workers import Computed, Processes

OUTPUTS = 1e-4
"""Relative difference of outputs up to which they are the same in float32."""
GRADIENTS = 1e-2
"""Of gradients. It is above rounding because ReLU is 0 or 1 beside 0: one of a million activations
changes sides, and with it a part of the gradient."""
SILENT_NOTE = "no influence on the outputs was seen on these rows, so nothing is proved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What was seen. `outputs`: the largest relative difference by framework. `gradients`: by
    canonical tensor. `silent`: canonical tensors without influence."""

    outputs: Mapping[str, float]
    gradients: Mapping[str, float]
    silent: frozenset[str]

    @property
    def same(self) -> bool:
        """Whether the models compute the same outputs."""
        return all(value <= OUTPUTS for value in self.outputs.values())

    def proves(self, entry: Entry) -> bool:
        """Whether a tensor is where the map says."""
        far = self.gradients.get(entry.name, 0.0)
        return self.same and far <= GRADIENTS and entry.name not in self.silent

    def whole(self, known: WeightsMap) -> bool:
        """Whether all tensors are proved that have an influence."""
        rest = (entry for entry in known.entries if entry.name not in self.silent)
        return self.same and all(map(self.proves, rest))

    @property
    def score(self) -> tuple[float, float]:
        """Order proofs by this, the best one first."""
        wrong = sum(value > GRADIENTS for value in self.gradients.values())
        return wrong, max(self.outputs.values(), default=0.0)


def prove(
    known: WeightsMap, models: Sequence[Model], processes: Processes, fixed: frozenset[str]
) -> Proof:
    """Run all models with one set of random weights and compare what they compute.

    Args:
        known: The map.
        models: Of all its frameworks.
        processes: Theirs.
        fixed: Canonical tensors that keep their values: the models fill them by themselves.
    """
    drawn = drawn_weights(known, models, fixed)
    weights = {f: framework_arrays(drawn, known, f) for f in known.frameworks}
    computed = processes.compute(weights, models)
    proof = compare(known, computed)
    return replace(proof, silent=proof.silent | uncalled_statistics(known, models))


def uncalled_statistics(known: WeightsMap, models: Sequence[Model]) -> set[str]:
    """Return the running statistics of layers that no model calls; no gradient shows these."""
    uncalled = {
        (model.framework, part.tensor)
        for model in models
        for part in model.parts
        if part.statistic and not part.called
    }
    return {
        entry.name
        for entry in known.entries
        if all((framework, place.name) in uncalled for framework, place in entry.places.items())
    }


def drawn_weights(
    known: WeightsMap, models: Sequence[Model], fixed: frozenset[str]
) -> dict[str, np.ndarray]:
    """Return random values of the canonical tensors that models do not fill by themselves."""
    roles = roles_of(known, models)
    return {
        entry.name: draw(roles[entry.name], entry.name)
        for entry in known.entries
        if entry.name not in fixed
    }


def roles_of(known: WeightsMap, models: Sequence[Model]) -> dict[str, Part]:
    """Return for every canonical tensor the part that tells its role: of a known layer, if any.

    Counters have none.
    """
    by_tensor: dict[tuple[str, str], list[Part]] = defaultdict(list)
    for model in models:
        for part in model.parts:
            by_tensor[model.framework, part.tensor].append(part)
    by_name = {}
    for entry in known.entries:
        parts = [
            part
            for framework, place in entry.places.items()
            for part in by_tensor.get((framework, place.name), ())
        ]
        if parts:
            best = next((part for part in parts if part.known), parts[0])
            by_name[entry.name] = replace(best, shape=entry.shape)
    return by_name


def compare(known: WeightsMap, computed: Mapping[str, Computed]) -> Proof:
    """Compare outputs and gradients of all frameworks with those of the first one."""
    first = known.frameworks[0]
    outputs = {
        name: output_distance(computed[first].outputs, computed[name].outputs)
        for name in known.frameworks[1:]
    }
    gradients = {
        name: canonical_arrays(computed[name].gradients, known, name, "gradients")
        for name in known.frameworks
    }
    peaks = {
        name: max((float(np.abs(a).max(initial=0)) for a in arrays.values()), default=0.0)
        for name, arrays in gradients.items()
    }
    far: dict[str, float] = {}
    silent = set()
    for entry in known.entries:
        largest = {
            name: gradients[name][entry.name]
            for name in entry.places
            if entry.name in gradients[name]
        }
        loud = {
            name: array
            for name, array in largest.items()
            if np.abs(array).max(initial=0) > SILENT * peaks[name]
        }
        if not loud:
            if largest:
                silent.add(entry.name)
            continue
        reference = next(iter(loud.values()))
        zero = np.zeros_like(reference)
        others = [largest.get(name, zero) for name in entry.places if name in gradients]
        far[entry.name] = max(distance(reference, other) for other in others)
    return Proof(outputs=outputs, gradients=far, silent=frozenset(silent))


def output_distance(ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray]) -> float:
    """Return the largest relative difference of outputs; infinity if they have other shapes."""
    if [a.shape for a in ours] != [b.shape for b in theirs] or not ours:
        return float("inf")
    far = 0.0
    for a, b in zip(ours, theirs, strict=True):
        if not (np.isfinite(a).all() and np.isfinite(b).all()):
            return float("inf")
        size = max(float(np.abs(a).max(initial=0)), float(np.abs(b).max(initial=0)))
        if size:
            far = max(far, float(np.abs(a.astype(np.float64) - b).max()) / size)
    return far


def marked(known: WeightsMap, proof: Proof) -> WeightsMap:
    """Return the map with what was proved, and with notes where nothing was."""
    entries = []
    for entry in known.entries:
        notes = list(entry.notes)
        if entry.name in proof.silent:
            notes.append(SILENT_NOTE)
        elif proof.gradients.get(entry.name, 0.0) > GRADIENTS:
            notes.append(f"gradients differ by {proof.gradients[entry.name]:.1%} of their size")
        entries.append(replace(entry, proved=proof.proves(entry), notes=tuple(notes)))
    return replace(known, entries=tuple(entries))
