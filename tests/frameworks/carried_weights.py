"""Weights of carried models by neutral names, in the layout of PyTorch, for every framework.

A name is that of the layer of a network and of the weight: `encoder_layers_0_self_attn_q/weight`.
In a source the weight may be a part of another one, as those of queries, keys and values are in
PyTorch; in what was written it is a weight of the layer that has the name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray
Change = Callable[[Array], Array]


def same(array: Array) -> Array:
    return array


def turned(array: Array) -> Array:
    return array.T


@dataclass(frozen=True)
class Place:
    """A variable that has a weight, or some of its rows."""

    variable: Any
    to_own: Change = same
    to_torch: Change = same
    rows: slice | None = None

    def put(self, whole: Array, weight: Array) -> Array:
        """Return the content of the variable with a weight in it."""
        if self.rows is None:
            return self.to_own(weight)
        filled = np.array(whole)
        filled[self.rows] = self.to_own(weight)
        return filled

    def taken(self, whole: Array) -> Array:
        """Return the weight, or its gradient, in the layout of PyTorch."""
        return self.to_torch(whole if self.rows is None else whole[self.rows])


_SUFFIXES = {
    "weight": "weight_ih",
    "bias": "bias_ih",
    "state": "weight_hh",
    "state_bias": "bias_hh",
}
_PARTS = r"_(q|k|v|out|forward|backward)$"
"""Of layers that consist of several."""
_PACKED = {"q": 0, "k": 1, "v": 2}


def _split(name: str) -> tuple[str, str]:
    layer, _, part = name.rpartition("/")
    return layer, part


def _by_word(paths: Iterable[str], layer: str, part: str) -> str | None:
    """Return the path of a weight of a layer whose name has `_` for dots."""
    for path in paths:
        owner, _, last = path.rpartition(".")
        text = owner.replace(".", "_")
        if last == part and layer in (text, f"layer_{text}"):
            return path
    return None


def _recurrent(paths: Iterable[str], layer: str, part: str) -> str | None:
    """Return the path of a weight of a recurrent layer that may have several layers and directions.

    PyTorch and Paddle call them alike.
    """
    found = re.fullmatch(r"(.*?)(?:_(\d+))?(?:_(forward|backward))?", layer)
    assert found is not None
    choices = [(layer, "l0")]
    word, number, direction = found.groups()
    end = "_reverse" if direction == "backward" else ""
    choices.append((word, f"l{number or 0}{end}"))
    if number is not None:  # the number belongs to the name of the layer
        choices.append((f"{word}_{number}", f"l0{end}"))
    for owner, suffix in choices:
        path = _by_word(paths, owner, f"{_SUFFIXES[part]}_{suffix}")
        if path is not None:
            return path
    return _by_word(paths, f"{layer}_cell", _SUFFIXES[part])


def of_torch(model: Any, names: Iterable[str]) -> dict[str, Place]:
    """Return the parameters and buffers of a model of PyTorch."""
    named = dict(model.named_parameters()) | dict(model.named_buffers())
    words = {"mean": "running_mean", "var": "running_var"}
    places = {}
    for name in names:
        layer, part = _split(name)
        path = _by_word(named, layer, words.get(part, part))
        if path is None and part in _SUFFIXES:
            path = _recurrent(named, layer, part)
        if path is not None:
            places[name] = Place(named[path])
            continue
        owner, _, word = layer.rpartition("_")
        if word == "out":
            places[name] = Place(named[_needed(named, f"{owner}_out_proj", part, name)])
            continue
        packed = named[_needed(named, owner, f"in_proj_{part}", name)]
        size = packed.shape[0] // 3
        start = _PACKED[word] * size
        places[name] = Place(packed, rows=slice(start, start + size))
    return places


def _needed(named: Iterable[str], layer: str, part: str, name: str) -> str:
    path = _by_word(named, layer, part)
    assert path is not None, f"{name}: {sorted(named)}"
    return path


def of_paddle(model: Any, names: Iterable[str]) -> dict[str, Place]:
    """Return the parameters and buffers of a model of Paddle."""
    import paddle

    named = dict(model.named_parameters()) | dict(model.named_buffers())
    words = {"mean": "_mean", "var": "_variance"}
    layers = dict(model.named_sublayers())
    places = {}
    for name in names:
        layer, part = _split(name)
        path = _by_word(named, layer, words.get(part, part))
        if path is None and part in _SUFFIXES:
            path = _recurrent(named, layer, part)
        path = path or _needed(named, f"{layer}_proj", part, name)
        owner = layers[path.rpartition(".")[0]]
        is_turned = part == "weight" and isinstance(owner, paddle.nn.Linear)
        places[name] = Place(named[path], *(turned, turned) if is_turned else (same, same))
    return places


def to_last(array: Array) -> Array:
    """Return a weight with the axes that layers of Keras and Flax have."""
    return np.moveaxis(array, (0, 1), (-1, -2)) if array.ndim > 2 else array.T


def to_first(array: Array) -> Array:
    return np.moveaxis(array, (-1, -2), (0, 1)) if array.ndim > 2 else array.T


def by_heads(shape: tuple[int, ...], word: str) -> tuple[Change, Change]:
    """Return how a weight of attention with an axis of the heads is made of a plain one."""
    inputs = shape[0] * shape[1] if word == "out" else shape[0]

    def back(array: Array) -> Array:
        return array.reshape(inputs, -1).T

    return (lambda array: array.T.reshape(shape)), back


def flat(shape: tuple[int, ...]) -> tuple[Change, Change]:
    return (lambda array: array.reshape(shape)), (lambda array: array.reshape(-1))


def gates_in(count: int, order: tuple[int, ...]) -> Change:
    """Return a function that puts the gates of a recurrent weight, its rows, in another order."""

    def change(array: Array) -> Array:
        gates = np.split(array, count)
        return np.concatenate([gates[place] for place in order])

    return change


def _keras_recurrent(layer: Any, part: str) -> Place:
    """Return a weight of a recurrent layer of Keras; a GRU has the update gate first."""
    cell = layer.cell
    is_gru = type(cell).__name__ == "GRUCell"
    swap = gates_in(3, (1, 0, 2)) if is_gru else same
    if part in ("weight", "state"):
        variable = cell.kernel if part == "weight" else cell.recurrent_kernel
        return Place(variable, lambda a: swap(a).T, lambda a: swap(a.T))
    if not is_gru:
        return Place(cell.bias)
    row = 0 if part == "bias" else 1
    return Place(cell.bias, lambda a: swap(a)[None], lambda a: swap(a[0]), rows=slice(row, row + 1))


def of_keras(model: Any, names: Iterable[str]) -> dict[str, Place]:
    """Return the variables of a model of Keras."""
    import keras

    names = list(names)
    by_name = {layer.name: layer for layer in model.layers}
    whole_layers = [layer for layer in model.layers if layer.weights]
    roots = list(dict.fromkeys(re.sub(_PARTS, "", _split(each)[0]) for each in names))

    def in_order(layer: str) -> Any:
        """Return a layer without a name of its own: they stand in the order of the source."""
        return whole_layers[roots.index(layer)] if layer in roots else None

    words = {"q": "query", "k": "key", "v": "value", "out": "output"}
    places = {}
    for name in names:
        layer, part = _split(name)
        direction = layer.rpartition("_")[2]
        held = getattr(model, layer, None) or by_name.get(layer)
        if held is None and (own := getattr(model, f"{layer}_input", None)) is not None:
            held = own if part in ("weight", "bias") else getattr(model, f"{layer}_state")
            part = {"state": "weight", "state_bias": "bias"}.get(part, part)
        owner = layer.rpartition("_")[0] if held is None else ""
        whole = getattr(model, owner, None) or (in_order(owner) if owner else None)
        if held is None and direction in ("forward", "backward"):
            held = getattr(whole, f"{direction}_layer")
        if held is None and direction in words:
            held = getattr(whole, f"_{words[direction]}_dense")
            variable = held.kernel if part == "weight" else held.bias
            shape = tuple(variable.shape)
            changes = by_heads(shape, direction) if part == "weight" else flat(shape)
            places[name] = Place(variable, *changes)
            continue
        held = held if held is not None else in_order(layer)
        if isinstance(held, keras.layers.RNN):
            places[name] = _keras_recurrent(held, part)
            continue
        kept = part != "weight" or isinstance(held, keras.layers.Embedding)
        changes = (same, same) if kept else (to_last, to_first)
        places[name] = Place(_keras_variable(held, part), *changes)
    return places


def _keras_variable(layer: Any, part: str) -> Any:
    words = {
        "weight": ("kernel", "gamma", "embeddings"),
        "bias": ("bias", "beta"),
        "mean": ("moving_mean",),
        "var": ("moving_variance",),
    }
    found = (getattr(layer, name, None) for name in words[part])
    return next(variable for variable in found if variable is not None)


def of_jax(model: Any, names: Iterable[str]) -> dict[str, Place]:
    """Return the variables of a model of Flax."""
    from flax import nnx

    modules = {_flat_path(path, model): module for path, module in nnx.iter_modules(model)}
    words = {"q": "query", "k": "key", "v": "value", "out": "out"}
    places = {}
    for name in names:
        layer, part = _split(name)
        held = modules.get(layer) or modules.get(layer.removeprefix("layer_"))
        word = layer.rpartition("_")[2]
        if isinstance(held, nnx.RNN):
            owner = held.cell.dense_i if part in ("weight", "bias") else held.cell.dense_h
            part = "weight" if part in ("weight", "state") else "bias"
            held = owner
        elif held is None and f"{layer}_input" in modules:
            held = modules[f"{layer}_{'input' if part in ('weight', 'bias') else 'state'}"]
            part = {"state": "weight", "state_bias": "bias"}.get(part, part)
        elif word in words and (held is None or isinstance(held, nnx.LinearGeneral)):
            held = getattr(modules[layer.rpartition("_")[0]], words[word])
            variable = held.kernel if part == "weight" else held.bias
            shape = tuple(variable.shape)
            changes = by_heads(shape, word) if part == "weight" else flat(shape)
            places[name] = Place(variable, *changes)
            continue
        kept = part != "weight" or isinstance(held, nnx.Embed)
        choices = {"weight": ("kernel", "scale", "embedding")}.get(part, (part,))
        found = (getattr(held, choice, None) for choice in choices)
        variable = next(each for each in found if each is not None)
        places[name] = Place(variable, *(same, same) if kept else (to_last, to_first))
    return places


def _flat_path(path: Any, model: Any) -> str:
    """Return the name of a layer, without the list that a Sequential of Flax has its layers in."""
    from flax import nnx

    words, holder = [], model
    for word in path:
        if not (isinstance(holder, nnx.Sequential) and word == "layers"):
            words.append(str(word))
        holder = holder[word] if isinstance(word, int) else getattr(holder, word)
    return "_".join(words)


def fill(model: Any, framework: str, weights: dict[str, Array]) -> dict[str, Place]:
    """Give a model weights; return where they are."""
    import importlib

    places = {"torch": of_torch, "paddle": of_paddle, "tensorflow": of_keras, "jax": of_jax}[
        framework
    ](model, weights)
    for name, place in places.items():
        variable, array = place.variable, weights[name]
        if framework == "torch":
            torch = importlib.import_module("torch")
            with torch.no_grad():
                whole = variable.detach().numpy()
                variable.copy_(torch.from_numpy(np.array(place.put(whole, array))))
        elif framework == "paddle":
            variable.set_value(np.ascontiguousarray(place.put(variable.numpy(), array)))
        elif framework == "tensorflow":
            variable.assign(place.put(variable.numpy(), array))
        else:
            jnp = importlib.import_module("jax.numpy")
            variable.set_value(jnp.asarray(place.to_own(array)))  # it may be traced
    return places
