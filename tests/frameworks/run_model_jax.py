"""Runs emitted JAX models, whose types stand in the file; see `model_job`."""

from __future__ import annotations

import runpy
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

# isort: split
from frameworks.model_job import HALVES, Arrays, run

OPERATIONS = {
    "dot_general": "matmul",
    "erfc": "gelu",
    "exp": "softmax",
    "tanh": "tanh",
    "gather": "embedding",
    "rsqrt": "layer_norm",
}
"""Primitives, and of what operation of the model they are a part."""


class Named:
    """A model and its weights by their names in files."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.canonical_layout = model.canonical_layout

    def canonical_parameters(self) -> Iterator[tuple[str, Any]]:
        """Yield names and variables."""
        for path, node in nnx.iter_graph(self.model):
            if isinstance(node, nnx.Param):
                yield self.model.canonical_name(path), node


class Jax:
    name = "jax"
    halves: tuple[str, ...] = HALVES
    typed: tuple[str, ...] = HALVES

    _seed = 0

    def seed(self, number: int) -> None:
        self._seed = number

    def build(self, module: Any, dtype: str) -> Any:
        # A module of its own: the functions of a model read the type from it when they run.
        own = runpy.run_path(str(module.__file__))
        if "HALF" in own:
            own["build_model"].__globals__["HALF"] = getattr(jnp, dtype)
        return Named(own["build_model"](nnx.Rngs(self._seed)))

    def read(self, parameter: Any) -> np.ndarray:
        return np.array(parameter.get_value())

    def write(self, parameter: Any, array: np.ndarray) -> None:
        parameter.set_value(jnp.asarray(array))

    def logits(self, model: Named, batch: Arrays, *, training: bool) -> np.ndarray:
        compute, state = forward(model, batch, training=training)
        logits = np.array(jax.jit(compute)(state))
        if training:
            nnx.reseed(model.model, default=jax.random.key(self._seed))  # other masks next time
            self._seed += 1
        return logits

    def gradients(
        self, model: Named, parameters: dict[str, Any], batch: Arrays, dtype: str
    ) -> tuple[np.ndarray, float, Arrays]:
        model.model.eval()
        graph, weights, rest = nnx.split(model.model, nnx.Param, ...)
        tensors, labels = inputs(batch), jnp.asarray(batch["labels"])

        def loss_of(weights: Any) -> tuple[jax.Array, jax.Array]:
            logits = nnx.merge(graph, weights, rest, copy=True)(*tensors).astype(jnp.float32)
            losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
            return losses.mean(), logits

        step = jax.jit(jax.value_and_grad(loss_of, has_aux=True))
        (loss, logits), found = step(weights)
        named = {
            model.model.canonical_name(path): array for path, array in nnx.to_flat_state(found)
        }
        arrays = {name: np.array(named[name].get_value()) for name in parameters}
        return np.array(logits), float(loss), arrays

    def types(self, model: Named, batch: Arrays, dtype: str) -> dict[str, set[str]]:
        compute, state = forward(model, batch, training=False)
        seen: dict[str, set[str]] = defaultdict(set)
        for equation in equations(jax.make_jaxpr(compute)(state).jaxpr):
            if operation := OPERATIONS.get(equation.primitive.name):
                seen[operation] |= {str(result.aval.dtype) for result in equation.outvars}
        return seen


def inputs(batch: Arrays) -> list[Any]:
    return [jnp.asarray(batch[n]) for n in ("input_ids", "attention_mask", "token_type_ids")]


def forward(model: Named, batch: Arrays, *, training: bool) -> tuple[Callable[[Any], Any], Any]:
    """Return the model as a function of its state, for these rows, and its state."""
    model.model.train() if training else model.model.eval()
    graph, state = nnx.split(model.model)
    tensors = inputs(batch)
    return lambda held: nnx.merge(graph, held)(*tensors), state


def equations(jaxpr: Any) -> Iterator[Any]:
    """Yield the equations of a program, those of functions that it calls, too."""
    for equation in jaxpr.eqns:
        yield equation
        for value in equation.params.values():
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                yield from equations(inner)


if __name__ == "__main__":
    run(Jax(), Path(sys.argv[1]))
