"""Everything that differs between two frameworks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from crosscast.weights.convert import canonical_arrays
from crosscast.weights.document import WeightsMap
from crosscast_parity.modules.calls import calls_of
from crosscast_parity.modules.comparison import Compared, Comparison, Place, compare
from crosscast_parity.modules.differences import RUNNING_VARIANCE, Difference
from crosscast_parity.modules.explain import explained
from crosscast_parity.modules.gradients import parted_gradients
from crosscast_parity.modules.hypotheses import NORMS
from crosscast_parity.modules.losses import parting_loss
from crosscast_parity.modules.state import compare_state
from crosscast_parity.modules.steps import Held, module_step, steps_at
from crosscast_parity.modules.structure import (
    compare_dropout,
    compare_initial,
    compare_settings,
)
from crosscast_parity.modules.trained_tensors import (
    GROUPS,
    compare_biases,
    compare_frozen,
    compare_groups,
)
from crosscast_parity.weights.assembly import unmatched
from crosscast_parity.weights.model import Model
from crosscast_parity.weights.proof import compare as compare_models
from crosscast_parity.weights.proof import roles_of
from crosscast_parity.weights.workers import Recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Two frameworks, where they begin to differ, and all that is known to be different."""

    comparison: Comparison
    output: Place | None
    gradient: Compared | None
    differences: tuple[Difference, ...]

    @property
    def same(self) -> bool:
        """Whether nothing certain was found."""
        certain = any(difference.certain for difference in self.differences)
        return self.comparison.same and not certain

    @property
    def trains_alike(self) -> bool:
        """Whether nothing was found that changes training from the same weights."""
        return self.comparison.same and not any(d.changes_training for d in self.differences)

    @property
    def beside_training(self) -> tuple[str, ...]:
        """Kinds of the certain differences of models that train alike."""
        kinds = (d.kind for d in self.differences if d.certain and self.trains_alike)
        return tuple(dict.fromkeys(kinds))

    @property
    def other_variances(self) -> frozenset[str]:
        """Canonical names of running variances to which another variance is added."""
        tensors = (d.tensors for d in self.differences if d.kind == RUNNING_VARIANCE)
        return frozenset(name for names in tensors for name in names)


def judge(
    known: WeightsMap,
    models: Sequence[Model],
    weights: Mapping[str, np.ndarray],
    evaluated: Mapping[str, Recorded],
    trained: Mapping[str, Recorded],
    losses: Mapping[str, str] | None = None,
) -> list[Judgement]:
    """Compare every framework with the first one.

    Args:
        known: The map of weights.
        models: Of its frameworks, the first one first.
        weights: Canonical, as all models had them.
        evaluated: What was recorded in evaluation.
        trained: And in training; may be empty.
        losses: The user's loss functions by framework, which the outputs are of; none by default.
    """
    held = Held(roles_of(known, models), weights)
    computed = {
        name: recorded.computed for name, recorded in evaluated.items() if recorded.computed
    }
    calls = {m.framework: calls_of(evaluated[m.framework], known, m) for m in models}
    first = models[0]
    judgements = []
    for model in models[1:]:
        names = first.framework, model.framework
        both = _pair_map(known, names)
        two = {name: computed[name] for name in names}
        proof = compare_models(both, two)
        comparison = compare(
            names,
            calls[names[0]],
            calls[names[1]],
            outputs=proof.outputs[model.framework],
            weights=max(proof.gradients.values(), default=0.0),
        )
        parting = parting_loss(comparison, losses, two) if losses else None
        differences = [parting] if parting else _numbers(comparison, held)
        if not parting and differences and differences[0].what == "gradient":
            differences += parted_gradients(both, two, proof.gradients)
        differences += [*_norms(comparison, held), *compare_settings(comparison)]
        differences += compare_dropout(comparison)
        differences += compare_biases(both, models) + compare_frozen(both, models)
        differences += compare_groups(names, unmatched(known, models))
        differences += compare_initial(known, models, model.framework)
        if trained:
            differences += compare_state(
                names,
                tuple(calls_of(trained[m.framework], known, m) for m in (first, model)),  # type: ignore[arg-type]
                tuple(_state(trained[name], known, name) for name in names),  # type: ignore[arg-type]
                held,
            )
        judgements.append(
            Judgement(
                comparison=comparison,
                output=comparison.first_output(),
                gradient=None if parting else comparison.first_gradient(),
                differences=_once(differences),
            )
        )
    return judgements


def _pair_map(known: WeightsMap, names: tuple[str, str]) -> WeightsMap:
    """Return the map of the tensors that two frameworks share."""
    entries = []
    for entry in known.entries:
        places = {name: place for name, place in entry.places.items() if name in names}
        if len(places) == 2:
            entries.append(replace(entry, places=places))
    return replace(known, frameworks=names, entries=tuple(entries))


def _state(recorded: Recorded, known: WeightsMap, framework: str) -> dict[str, np.ndarray]:
    arrays = {n[6:]: a for n, a in recorded.arrays.items() if n.startswith("state/")}
    return canonical_arrays(arrays, known, framework)


def _numbers(comparison: Comparison, held: Held) -> list[Difference]:
    """Return differences of outputs and gradients, and of norms too close to show there."""
    differences = []
    place = comparison.first_output()
    if place is not None:
        pair = place.at.pair
        named = explained(*steps_at(comparison, place, held))
        words = f"outputs differ by {place.at.outputs:.1e} of their size"
        if pair.other_sizes:
            shapes = [list(call.outputs[0].shape) for call in (pair.a, pair.b)]
            words = f"outputs have other shapes, {shapes[0]} and {shapes[1]}"
        if named:
            words = f"{comparison.first}: {named.ours}; {comparison.other}: {named.theirs}"
        differences.append(
            Difference(
                what="output",
                module=pair.a.text,
                counterpart=pair.b.text,
                kind=named.kind if named else "",
                words=words,
            )
        )
    elif not comparison.same:
        gradient = comparison.first_gradient()
        differences.append(
            Difference(
                what="gradient",
                module=gradient.pair.a.text if gradient else "the models",
                counterpart=gradient.pair.b.text if gradient else "the models",
                kind="",
                words=f"outputs are the same, gradients of weights differ by "
                f"{comparison.weights:.1e} of their size",
            )
        )
    return differences


def _norms(comparison: Comparison, held: Held) -> list[Difference]:
    differences = []
    for compared in comparison.compared:
        pair = compared.pair
        if not pair.a.leaf or not pair.b.leaf or not compared.same_inputs:
            continue
        named = explained(
            module_step(pair.first_of_a, pair.a, held),
            module_step(pair.first_of_b, pair.b, held),
            NORMS,
        )
        if named:
            differences.append(
                Difference(
                    what="output",
                    module=pair.a.text,
                    counterpart=pair.b.text,
                    kind=named.kind,
                    words=f"{comparison.first}: {named.ours}; {comparison.other}: {named.theirs}",
                )
            )
    return differences


def _once(differences: Sequence[Difference]) -> tuple[Difference, ...]:
    """Return differences without those that say the same of one module again, or less."""
    first_of_kind: dict[tuple[str, str], Difference] = {}
    grouped = {d.module for d in differences if d.kind == GROUPS}
    for difference in differences:
        if difference.what == "output" and not difference.kind and difference.module in grouped:
            continue  # the other groups say why
        first_of_kind.setdefault((difference.module, difference.kind), difference)
    return tuple(first_of_kind.values())
