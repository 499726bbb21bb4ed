"""Match the weights of models: propose, prove, and where that fails, look at gradients."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from crosscast.weights.convert import framework_arrays
from crosscast.weights.document import Entry, Place, WeightsMap
from crosscast.weights.layout import Shape
from crosscast_parity.weights.assembly import assemble
from crosscast_parity.weights.drawing import draw_alike
from crosscast_parity.weights.fingerprints import by_gradients, merged_shapes
from crosscast_parity.weights.layouts import Flattened, flattened_kernels, layouts_for
from crosscast_parity.weights.matching import Pairing, propose
from crosscast_parity.weights.model import Model
from crosscast_parity.weights.packed import cut_alike
from crosscast_parity.weights.proof import Proof, marked, prove
from crosscast_parity.weights.workers import Processes


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The map of weights of some models, with what was proved of it."""

    known: WeightsMap
    proof: Proof
    models: tuple[Model, ...]
    pairings: tuple[Pairing, ...]

    def reasons(self, entry: Entry) -> dict[str, str]:
        """Return by framework why a tensor is thought to be the canonical one."""
        return {
            pairing.second.framework: pairing.matches[entry.name].reason
            for pairing in self.pairings
            if entry.name in pairing.matches
        }


def search(described: Sequence[Model], processes: Processes) -> Found:
    """Return the best map of the weights of models."""
    models = cut_alike(described)
    flattened = flattened_kernels(model.parts for model in models)
    first, others = models[0], models[1:]
    proposals = [propose(first, other, flattened) for other in others]
    result = _proved(models, proposals, processes)
    if result.proof.whole(result.known):
        return _with_candidates(result)
    better = _proved(models, refined(models, proposals, processes), processes)
    return _with_candidates(min(result, better, key=_badness))


def _badness(result: Found) -> tuple[float, ...]:
    return (*result.proof.score, -len(result.known.entries))


def _proved(models: list[Model], pairings: Sequence[Pairing], processes: Processes) -> Found:
    known = assemble(models[0], pairings)
    if not known.entries:
        return Found(
            known=known,
            proof=Proof(outputs={"": float("inf")}, gradients={}, silent=frozenset()),
            models=tuple(models),
            pairings=tuple(pairings),
        )
    proof = prove(known, models, processes, filled(known, models))
    return Found(known=known, proof=proof, models=tuple(models), pairings=tuple(pairings))


def filled(known: WeightsMap, models: Sequence[Model]) -> frozenset[str]:
    """Return the canonical tensors that all models fill by themselves, counters among them."""
    fixed = {m.framework: m.fixed for m in models}
    return frozenset(
        entry.name
        for entry in known.entries
        if all(place.name in fixed[framework] for framework, place in entry.places.items())
    )


def refined(
    models: Sequence[Model], proposals: Sequence[Pairing], processes: Processes
) -> list[Pairing]:
    """Return the pairings that gradients of models with interchangeable weights show."""
    merged = merged_shapes(*models)
    weights = {m.framework: alike(m, merged, proposals[0].flattened) for m in models}
    computed = processes.compute(weights, models)
    first = computed[models[0].framework].gradients
    return [
        by_gradients(proposal, first, computed[proposal.second.framework].gradients, merged)
        for proposal in proposals
    ]


def alike(
    model: Model, merged: Collection[Shape], flattened: Flattened
) -> Mapping[str, np.ndarray]:
    """Return weights of a model that are the same for all tensors which might be the same."""
    parts = [part for part in model.parts if not part.fixed]
    entries = [
        Entry(
            name=part.name,
            shape=part.shape,
            places={model.framework: Place(name=part.tensor, layout=part.layout, shape=part.full)},
        )
        for part in parts
    ]
    own = WeightsMap(frameworks=(model.framework,), entries=tuple(entries))
    drawn = {part.name: draw_alike(part, merged, flattened) for part in parts}
    return framework_arrays(drawn, own, model.framework)


def _with_candidates(result: Found) -> Found:
    """Return the map with what was proved, and both candidates where nothing tells them apart."""
    known = marked(result.known, result.proof)
    silent = [entry for entry in known.entries if entry.name in result.proof.silent]
    entries = []
    for entry in known.entries:
        notes = list(entry.notes)
        if entry in silent:
            notes += _candidates(result, entry, silent)
        entries.append(replace(entry, notes=tuple(notes)))
    return replace(result, known=replace(known, entries=tuple(entries)))


def _candidates(result: Found, entry: Entry, silent: Sequence[Entry]) -> list[str]:
    notes = []
    for pairing in result.pairings:
        match = pairing.matches.get(entry.name)
        if match is None or match.reason in ("the same name", "the same layer"):
            continue
        others = [
            other.b.name
            for name in (e.name for e in silent if e is not entry)
            if (other := pairing.matches.get(name)) and layouts_for(match.a, other.b)
        ]
        if others:
            framework = pairing.second.framework
            notes.append(f"{framework}: {match.b.name} or {' or '.join(others[:3])}")
    return notes
