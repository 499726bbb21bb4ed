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

from frameworks.carried_weights import fill

TRAINED = ("/weight", "/bias", "/state", "/state_bias")
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

    places = fill(model, "torch", weights)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        if isinstance(getattr(module, "dropout", None), float):  # of attention, and recurrent
            module.dropout = 0.0
    given = {name: torch.from_numpy(array) for name, array in inputs.items()}
    found: Arrays = {"eval": first(model.eval()(*given.values())).detach().numpy()}
    outputs = first(model.train()(**given) if own else model.train()(*given.values()))
    found["train"] = outputs.detach().numpy()
    (outputs * torch.from_numpy(target(found["train"]))).sum().backward()
    for name, place in places.items():
        if name.endswith(TRAINED):
            found[name] = place.taken(place.variable.grad.numpy())
        elif name.endswith("/mean"):
            found[name] = place.variable.numpy()
    return found


def first(outputs: Any) -> Any:
    """Return the first of several outputs."""
    return outputs[0] if isinstance(outputs, tuple | list) else outputs


def by_paddle(model: Any, weights: Arrays, inputs: Arrays, own: bool) -> Arrays:
    import paddle

    places = fill(model, "paddle", weights)
    for module in model.sublayers():
        if isinstance(module, paddle.nn.Dropout):
            module.p = 0.0
        if isinstance(getattr(module, "dropout", None), float):  # of attention, and recurrent
            module.dropout = 0.0
    given = {name: paddle.to_tensor(array) for name, array in inputs.items()}
    model.eval()
    found: Arrays = {"eval": first(model(*given.values())).numpy()}
    model.train()
    outputs = first(model(**given) if own else model(*given.values()))
    found["train"] = outputs.numpy()
    (outputs * paddle.to_tensor(target(found["train"]))).sum().backward()
    for name, place in places.items():
        if name.endswith(TRAINED):
            found[name] = place.taken(place.variable.grad.numpy())
        elif name.endswith("/mean"):
            found[name] = place.variable.numpy()
    return found


def by_tensorflow(model: Any, weights: Arrays, inputs: Arrays, own: bool) -> Arrays:
    import keras
    import tensorflow as tf

    given: Any = {name: tf.constant(array) for name, array in inputs.items()}
    if not own:
        given = next(iter(given.values()))
        model(given)
    places = fill(model, "tensorflow", weights)
    for layer in model._flatten_layers():
        if isinstance(layer, keras.layers.Dropout):
            layer.rate = 0.0
    found: Arrays = {"eval": first(model(given, training=False)).numpy()}
    with tf.GradientTape() as tape:
        outputs = first(model(given, training=True))
        loss = tf.reduce_sum(outputs * target(outputs.numpy()))
    found["train"] = outputs.numpy()
    trained = {name: place for name, place in places.items() if name.endswith(TRAINED)}
    gradients = tape.gradient(loss, [place.variable.value for place in trained.values()])
    for (name, place), gradient in zip(trained.items(), gradients, strict=True):
        found[name] = place.taken(tf.convert_to_tensor(gradient).numpy())  # also of an embedding
    for name, place in places.items():
        if name.endswith("/mean"):
            found[name] = place.variable.numpy()
    return found


def by_jax(model: Any, weights: Arrays, inputs: Arrays, own: bool) -> Arrays:
    import jax
    import jax.numpy as jnp
    from flax import nnx

    places = fill(model, "jax", weights)
    for _, module in nnx.iter_modules(model):
        if isinstance(module, nnx.Dropout):
            module.rate = 0.0
    given = {name: jnp.asarray(array) for name, array in inputs.items()}

    def call(model: Any) -> Any:
        return first(model(**given) if own else model(*given.values()))

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
    for name, place in places.items():
        array = np.asarray(place.variable.get_value())
        if name.endswith(TRAINED):
            found[name] = place.taken(array)
        elif name.endswith("/mean"):
            found[name] = array
    return found


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
