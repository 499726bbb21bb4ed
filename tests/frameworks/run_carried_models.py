"""Compute outputs and gradients of models with given weights, for every case in a folder.

A case is a folder with `model.py`, whose function `make` or `build_model` creates the model,
`weights.npz` and `inputs.npz`; what is computed is written to `found.npz`. Weights are called
`layer/weight` and have the layout of PyTorch.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]


def loaded(path: Path) -> Any:
    """Return a file as a module."""
    spec = importlib.util.spec_from_file_location("model_of_case", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def created(module: Any, framework: str) -> Any:
    """Return the model of a file."""
    if framework == "jax":
        return unfilled(module)
    return module.build_model() if hasattr(module, "build_model") else module.make()


def unfilled(module: Any) -> Any:
    """Return a model of Flax whose weights are zeros.

    They are set before it is called, and XLA compiles the initializer of every shape, which takes
    as long as all the rest.
    """
    import jax
    import jax.numpy as jnp
    from flax import nnx

    def made() -> Any:
        if hasattr(module, "build_model"):
            return module.build_model(nnx.Rngs(0))
        return module.make()

    def filled(leaf: Any) -> Any:
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jax.random.key(0)
        return np.zeros(leaf.shape, leaf.dtype)

    graph, state = nnx.split(nnx.eval_shape(made))
    return nnx.merge(graph, jax.tree.map(filled, state))


def target(outputs: np.ndarray) -> np.ndarray:
    """Return what outputs are multiplied by for a loss."""
    return np.cos(np.arange(outputs.size, dtype=np.float32)).reshape(outputs.shape)


def by_torch(model: Any, weights: Arrays, inputs: Arrays, own: bool) -> Arrays:
    import torch

    named = dict(model.named_parameters()) | dict(model.named_buffers())
    words = {"mean": "running_mean", "var": "running_var"}
    places = {}
    for name in weights:
        layer, _, part = name.rpartition("/")
        places[name] = path_of(layer, words.get(part, part), named)
        with torch.no_grad():
            named[places[name]].copy_(torch.from_numpy(weights[name]))
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    given = {name: torch.from_numpy(array) for name, array in inputs.items()}
    found: Arrays = {"eval": model.eval()(*given.values()).detach().numpy()}
    outputs = model.train()(**given) if own else model.train()(*given.values())
    found["train"] = outputs.detach().numpy()
    (outputs * torch.from_numpy(target(found["train"]))).sum().backward()
    for name, place in places.items():
        if name.endswith(("/weight", "/bias")):
            found[name] = named[place].grad.numpy()
        elif name.endswith("/mean"):
            found[name] = named[place].numpy()
    return found


def path_of(layer: str, part: str, named: dict[str, Any]) -> str:
    """Return the path of a weight of a layer whose name has `_` for dots."""
    for path in named:
        owner, _, last = path.rpartition(".")
        text = owner.replace(".", "_")
        if last == part and layer in (text, f"layer_{text}"):
            return path
    raise KeyError(f"{layer} {part}: {sorted(named)}")


def by_paddle(model: Any, weights: Arrays, inputs: Arrays, own: bool) -> Arrays:
    import paddle

    named = dict(model.named_parameters()) | dict(model.named_buffers())
    words = {"mean": "_mean", "var": "_variance"}
    linear = (paddle.nn.Linear,)
    layers = dict(model.named_sublayers())
    places, turned = {}, set()
    for name in weights:
        layer, _, part = name.rpartition("/")
        path = places[name] = path_of(layer, words.get(part, part), named)
        array = weights[name]
        if isinstance(layers[path.rpartition(".")[0]], linear) and part == "weight":
            turned.add(name)
            array = array.T
        named[path].set_value(array)
    for module in model.sublayers():
        if isinstance(module, paddle.nn.Dropout):
            module.p = 0.0
    given = {name: paddle.to_tensor(array) for name, array in inputs.items()}
    model.eval()
    found: Arrays = {"eval": model(*given.values()).numpy()}
    model.train()
    outputs = model(**given) if own else model(*given.values())
    found["train"] = outputs.numpy()
    (outputs * paddle.to_tensor(target(found["train"]))).sum().backward()
    for name, path in places.items():
        if name.endswith(("/weight", "/bias")):
            gradient = named[path].grad.numpy()
            found[name] = gradient.T if name in turned else gradient
        elif name.endswith("/mean"):
            found[name] = named[path].numpy()
    return found


def by_tensorflow(model: Any, weights: Arrays, inputs: Arrays, own: bool) -> Arrays:
    import keras
    import tensorflow as tf

    names = list(dict.fromkeys(name.rpartition("/")[0] for name in weights))
    given: Any = {name: tf.constant(array) for name, array in inputs.items()}
    if not own:
        given = next(iter(given.values()))
        model(given)
    held = [layer for layer in model._flatten_layers(include_self=False) if layer.weights]
    layers = {name: getattr(model, name, None) for name in names}
    if any(layer is None for layer in layers.values()):
        layers = dict(zip(names, held, strict=True))
    places = {}
    for name in weights:
        layer, _, part = name.rpartition("/")
        variable = places[name] = part_of(layers[layer], part)
        array = weights[name]
        variable.assign(keras_layout(array, layers[layer]) if part == "weight" else array)
    for layer in model._flatten_layers():
        if isinstance(layer, keras.layers.Dropout):
            layer.rate = 0.0
    found: Arrays = {"eval": model(given, training=False).numpy()}
    with tf.GradientTape() as tape:
        outputs = model(given, training=True)
        loss = tf.reduce_sum(outputs * target(outputs.numpy()))
    found["train"] = outputs.numpy()
    trained = {name: v for name, v in places.items() if name.endswith(("/weight", "/bias"))}
    gradients = tape.gradient(loss, [variable.value for variable in trained.values()])
    for name, gradient in zip(trained, gradients, strict=True):
        array = tf.convert_to_tensor(gradient).numpy()  # also of an embedding
        layer, _, part = name.rpartition("/")
        found[name] = torch_layout(array, layers[layer]) if part == "weight" else array
    for name, variable in places.items():
        if name.endswith("/mean"):
            found[name] = variable.numpy()
    return found


def part_of(layer: Any, part: str) -> Any:
    for name in {
        "weight": ("kernel", "gamma", "embeddings"),
        "bias": ("bias", "beta"),
        "mean": ("moving_mean",),
        "var": ("moving_variance",),
    }[part]:
        if getattr(layer, name, None) is not None:
            return getattr(layer, name)
    raise KeyError(f"{layer} {part}")


def keras_layout(array: np.ndarray, layer: Any) -> np.ndarray:
    if array.ndim > 2:
        return np.moveaxis(array, (0, 1), (-1, -2))
    return array if type(layer).__name__ == "Embedding" else array.T


def torch_layout(array: np.ndarray, layer: Any) -> np.ndarray:
    if array.ndim > 2:
        return np.moveaxis(array, (-1, -2), (0, 1))
    return array if type(layer).__name__ == "Embedding" else array.T


def by_jax(model: Any, weights: Arrays, inputs: Arrays, own: bool) -> Arrays:
    import jax
    import jax.numpy as jnp
    from flax import nnx

    layers = {flat_path(path, model): module for path, module in nnx.iter_modules(model)}
    places, turned = {}, {}
    for name, array in weights.items():
        layer, _, part = name.rpartition("/")
        module = layers.get(layer) or layers[layer.removeprefix("layer_")]
        places[name] = variable_of(module, part)
        turned[name] = part == "weight" and array.ndim > 1 and not isinstance(module, nnx.Embed)
        places[name].set_value(jnp.asarray(keras_layout(array, module) if turned[name] else array))
    for _, module in nnx.iter_modules(model):
        if isinstance(module, nnx.Dropout):
            module.rate = 0.0
    given = {name: jnp.asarray(array) for name, array in inputs.items()}

    def call(model: Any) -> Any:
        return model(**given) if own else model(*given.values())

    model.eval()
    found: Arrays = {"eval": np.asarray(jax.jit(call)(model))}
    model.train()
    graph, learned, rest = nnx.split(model, nnx.Param, ...)

    def loss(learned: Any) -> Any:
        merged = nnx.merge(graph, learned, rest, copy=True)
        outputs = call(merged)
        factors = jnp.asarray(target(np.empty(outputs.shape)))
        return (outputs * factors).sum(), (outputs, nnx.state(merged, nnx.Not(nnx.Param)))

    derivative: Any = jax.jit(jax.grad(loss, has_aux=True))
    gradients, (outputs, rest) = derivative(learned)
    found["train"] = np.asarray(outputs)
    nnx.update(model, gradients, rest)
    for name, variable in places.items():
        array, module = np.asarray(variable.get_value()), None
        if name.endswith(("/weight", "/bias")):
            found[name] = torch_layout(array, module) if turned[name] else array
        elif name.endswith("/mean"):
            found[name] = array
    return found


def flat_path(path: Any, model: Any) -> str:
    """Return the name of a layer, without the list that a Sequential of Flax has its layers in."""
    from flax import nnx

    words, holder = [], model
    for word in path:
        if not (isinstance(holder, nnx.Sequential) and word == "layers"):
            words.append(str(word))
        holder = holder[word] if isinstance(word, int) else getattr(holder, word)
    return "_".join(words)


def variable_of(module: Any, part: str) -> Any:
    """Return a variable of a layer of Flax."""
    names = {"weight": ("kernel", "scale", "embedding")}.get(part, (part,))
    return next(getattr(module, name) for name in names if getattr(module, name, None) is not None)


RUNS: dict[str, Callable[[Any, Arrays, Arrays, bool], Arrays]] = {
    "torch": by_torch,
    "tensorflow": by_tensorflow,
    "paddle": by_paddle,
    "jax": by_jax,
}


def main() -> None:
    """Compute all cases of a folder: framework, folder."""
    framework, root = sys.argv[1], Path(sys.argv[2])
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        model = created(loaded(folder / "model.py"), framework)
        weights, inputs = (dict(np.load(folder / f"{n}.npz")) for n in ("weights", "inputs"))
        found = RUNS[framework](model, weights, inputs, (folder / "own").exists())
        np.savez(folder / "found.npz", **found)  # type: ignore[arg-type]
    print(json.dumps("done"))


if __name__ == "__main__":
    main()
