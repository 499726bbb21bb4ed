"""Trees of a saved state: dictionaries and lists with tensors and numbers as leaves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from crosscast.state.reading import Arrays, Reading, report_rounded, widened
from crosscast.state.saved_file import SavedTensor
from crosscast_jax.states import keys

_VARIABLE = "value"
"""The key that Orbax writes for the value of a variable of NNX."""

Path = tuple[str, ...]


def branches(tree: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a dictionary or list by their names."""
    if isinstance(tree, dict):
        yield from ((str(key), value) for key, value in tree.items())
    elif isinstance(tree, list):
        yield from ((str(index), value) for index, value in enumerate(tree))


def leaves(tree: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the leaves, which are neither dictionaries, lists nor None, by their paths."""
    if isinstance(tree, dict | list):
        for name, value in branches(tree):
            yield from leaves(value, (*path, name))
    elif tree is not None:
        yield path, tree


def without_variables(tree: Any) -> Any:
    """Return a tree with the values of variables of NNX in their place.

    A parameter may be called `value`, too: then not every tensor is in such a place.
    """
    tensors = [path for path, leaf in leaves(tree) if isinstance(leaf, SavedTensor)]
    if not tensors or not all(path[-1:] == (_VARIABLE,) for path in tensors):
        return tree
    return _unwrapped(tree)


def _unwrapped(tree: Any) -> Any:
    if isinstance(tree, dict):
        if tree.keys() == {_VARIABLE} and not isinstance(tree[_VARIABLE], dict | list):
            return tree[_VARIABLE]
        return {key: _unwrapped(value) for key, value in tree.items()}
    return [_unwrapped(value) for value in tree] if isinstance(tree, list) else tree


def arrays_of(tree: Any, part: str, reading: Reading) -> Arrays:
    """Return the tensors of a tree by their paths, with floats as float32."""
    named = {".".join(path): leaf for path, leaf in leaves(tree)}
    others = [name for name, leaf in named.items() if not isinstance(leaf, SavedTensor)]
    reading.problem("CC961", (f"{part} {name!r} is not a tensor" for name in others))
    tensors = {name: leaf for name, leaf in named.items() if isinstance(leaf, SavedTensor)}
    report_rounded(tensors, part, reading)
    return {name: widened(tensor) for name, tensor in tensors.items()}


def weights_of(parts: Mapping[str, Any], reading: Reading) -> Arrays:
    """Return weights and running statistics; random numbers are left out."""
    tree = without_variables(parts["weights"])
    trees = [tree]
    if isinstance(tree, dict) and isinstance(tree.get("params"), dict):  # collections of Linen
        trees = [tree["params"], *(tree[n] for n in keys.PARTS["statistics"] if n in tree)]
        left = tree.keys() - {"params", *keys.PARTS["statistics"]}
        reading.problem("CC961", (f"unknown collection {str(name)!r}" for name in left))
    trees += [parts["statistics"]] if "statistics" in parts else []
    arrays: Arrays = {}
    for each in trees:
        kept = _without_random(each, reading)
        arrays |= arrays_of(kept, "weights", reading)
    return arrays


def _without_random(tree: Any, reading: Reading) -> Any:
    """Return a tree without the random numbers of NNX."""
    if not isinstance(tree, dict | list):
        return tree
    kept = {}
    for name, value in branches(tree):
        if name == keys.RANDOM:
            drawn = "drawn from the seed and the number of the window"
            reading.account.add("random numbers", 1, "left out", drawn)
        else:
            kept[name] = _without_random(value, reading)
    return kept
