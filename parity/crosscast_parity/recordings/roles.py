"""Roles of the parameters of the shipped BERT, by which a recipe exempts them from decay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

Roles = Mapping[str, frozenset[str]]
"""By name; empty for what has none."""


def roles_of(names: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return the roles of parameters by their canonical names."""
    return {name: frozenset(_roles(name)) for name in names}


def _roles(name: str) -> Iterator[str]:
    if name.endswith(".bias"):
        yield "bias"
    if "LayerNorm" in name:
        yield "layer_norm"
    if name.endswith("_embeddings.weight"):
        yield "embedding"
