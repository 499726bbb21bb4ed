"""Models whose modules were compared, as the harness trains them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from crosscast.weights.convert import canonical_arrays
from crosscast.weights.document import WeightsMap
from crosscast_parity.inputs.custom import CustomModels, Trained, frozen_terms
from crosscast_parity.modules.kinds import group_of
from crosscast_parity.weights.model import Model, Part
from crosscast_parity.weights.proof import roles_of

NORMS = ("layer norm", "rms norm")
"""Layers whose parameters have the role `layer_norm` of `optimizer.no_decay`."""
NORMALIZATIONS = (*NORMS, "batch norm", "group norm", "instance norm")


def custom_models(
    known: WeightsMap,
    models: Sequence[Model],
    initial: Mapping[str, Mapping[str, np.ndarray]],
    drawn: Mapping[str, np.ndarray],
    folder: Path,
    by_seed: Mapping[int, Mapping[str, np.ndarray]],
    other_variances: Mapping[str, frozenset[str]],
) -> CustomModels:
    """Return the starting state for runs of the models of a recipe.

    Args:
        known: The map of their weights.
        models: In the order of its frameworks.
        initial: By framework all tensors as the factory draws them.
        drawn: Canonical weights with which every layer has an effect.
        folder: Of the recipe.
        by_seed: All tensors of the first framework as its factory draws them with other seeds.
        other_variances: By framework the running variances to which it adds another variance of a
            batch than the first one.
    """
    first = known.frameworks[0]
    trained = {model.framework: _trained(model, initial[model.framework]) for model in models}

    def canonical(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        start = canonical_arrays(arrays, known, first)
        return _folded({name: start[name] for name in drawn if name in start}, known)

    starts = {seed: canonical(models[0].with_aliases(arrays)) for seed, arrays in by_seed.items()}
    return CustomModels(
        known=known,
        models=trained,
        start=canonical(trained[first].arrays),
        starts=starts,
        drawn=_folded(drawn, known),
        statistics=frozenset(n for n, part in roles_of(known, models).items() if part.statistic),
        folder=folder,
        other_variances=other_variances,
    )


def _folded(canonical: Mapping[str, np.ndarray], known: WeightsMap) -> dict[str, np.ndarray]:
    """Return weights of the same models whose frozen terms are 0, so that sums are single terms."""
    folded = dict(canonical)
    for name, first in frozen_terms(known).items():
        if name in folded and first in folded:
            folded[first] = folded[first] + folded[name]
            folded[name] = np.zeros_like(folded[name])
    return folded


def _trained(model: Model, initial: Mapping[str, np.ndarray]) -> Trained:
    parts: dict[str, list[Part]] = {}
    trained = model.trained
    for part in model.parts:
        if part.tensor in trained:
            parts.setdefault(part.tensor, []).append(part)
    return Trained(
        arrays=model.with_aliases(initial),
        roles={name: frozenset(_roles(own_parts)) for name, own_parts in parts.items()},
        counters=frozenset(model.counters),
    )


def _roles(parts: Sequence[Part]) -> set[str]:
    """Return the roles of a parameter; `other` if it is more than the kernel of a dense layer."""
    roles = set()
    for part in parts:
        group = group_of(part.base, part.kind)
        leaf = re.split(r"[./]", part.tensor)[-1]
        if part.role.startswith("bias") or (not part.known and "bias" in leaf.split("_")):
            roles.add("bias")  # by its name where the layer is not known, as scripts do
        if group in NORMALIZATIONS:
            roles.add("norm")
        if group in NORMS:
            roles.add("layer_norm")
        if part.role == "embedding":
            roles.add("embedding")
        if part.also or not (part.known and part.role == "kernel" and group == "dense"):
            roles.add("other")
    return roles
