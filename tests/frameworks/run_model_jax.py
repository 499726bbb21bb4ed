"""What `model_job` asks of emitted JAX models; their types stand in the file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

# isort: split
from frameworks.model_job import Arrays

OPERATIONS = {"dot_general": "matmul", "erfc": "gelu", "exp": "softmax", "tanh": "tanh"}
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

    def seed(self, number: int) -> None:
        self._seed = number

    def build(self, module: Any, dtype: str) -> Any:
        if hasattr(module, "HALF"):
            module.HALF = getattr(jnp, dtype)
        return Named(module.build_model(nnx.Rngs(getattr(self, "_seed", 0))))

    def read(self, parameter: Any) -> np.ndarray:
        return np.array(parameter.get_value())

    def write(self, parameter: Any, array: np.ndarray) -> None:
        parameter.set_value(jnp.asarray(array))

    def logits(self, model: Named, batch: Arrays, *, training: bool) -> np.ndarray:
        compute, state = forward(model, batch, training=training)
        return np.array(jax.jit(compute)(state))

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
