"""The arrays in trees of weights and gradients, and what is told of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from crosscast_jax.inside.update_settings import name_of


def by_name(tree: Any) -> dict[str, Any]:
    """Return the arrays of a tree by name."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {name_of(path): leaf for path, leaf in leaves if hasattr(leaf, "dtype")}


def plain(value: Any) -> float | bool:
    """Return a setting as JSON knows it."""
    return value if isinstance(value, bool) else float(value)


def structure(tree: Any) -> Any:
    """Return names and shapes, by which trees can be told apart."""
    return tuple((name, leaf.shape) for name, leaf in by_name(tree).items())


def size_of(named: Mapping[str, Any]) -> int:
    """Return how many numbers there are."""
    return sum(leaf.size for leaf in named.values())


def arrays_of(names: tuple[str, ...], arrays: Any) -> dict[str, Any]:
    """Return told arrays by name."""
    return {name: np.array(a, np.float32) for name, a in zip(names, arrays, strict=False)}


def anchor(tree: Any) -> Any:
    """Return an empty array that is traced where a tree is."""
    for leaf in jax.tree.leaves(tree):
        if isinstance(leaf, jax.Array):
            return leaf.reshape(-1)[:0]
    return jax.numpy.zeros(0)
