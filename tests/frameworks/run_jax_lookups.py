"""Lookups that the tap of JAX records, by how a model picks rows: JSON, `in>out` of each."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from crosscast_jax.inside.manifest import JaxTap
from crosscast_parity.inside.manifest import Recorder

ROWS = jnp.array([[0, 2], [1, 1]])
HALF = jnp.bfloat16


class Net(nnx.Module):  # type: ignore[misc]  # mypy does not look into Flax
    """A table, and another one that is a weight by itself."""

    def __init__(self) -> None:
        self.table = nnx.Embed(3, 4, rngs=nnx.Rngs(0))
        self.own = nnx.Param(jnp.ones((3, 4)))


CASES: dict[str, Callable[[Net], jax.Array]] = {
    "layer": lambda net: net.table(ROWS),
    "indexed": lambda net: net.own[...][ROWS],
    "variable": lambda net: net.own[ROWS],
    "cast and indexed": lambda net: net.table.embedding[...].astype(HALF)[ROWS],
    "cast and taken": lambda net: jnp.take(net.own.get_value().astype(HALF), ROWS, axis=0),
    "taken by name": lambda net: jnp.take(net.own[...], indices=ROWS, axis=0),
    "columns taken": lambda net: jnp.take(net.own[...], ROWS, axis=1),
    "picked": lambda net: net.own[...][ROWS[0], ROWS[1]],
    "one row": lambda net: net.own[...][1],
    "sliced": lambda net: net.own[...][:2],
    "computed": lambda net: (net.own[...] * 2.0).astype(HALF)[ROWS],
}


def lookups(case: Callable[[Net], jax.Array]) -> list[str]:
    """Return the lookups that are recorded while a case is differentiated."""
    graph, weights = nnx.split(Net())
    recorder, tap = Recorder(), JaxTap()

    def loss(weights: Any) -> jax.Array:
        net = nnx.merge(graph, weights)
        tap.start(recorder, net)
        try:
            return case(net).astype(jnp.float32).sum()
        finally:
            tap.stop()

    jax.make_jaxpr(jax.grad(loss))(weights)
    calls = [call for call in recorder.sequence()["order"] if call["name"] == "embedding"]
    return [f"{'+'.join(call['in'])}>{call['out']}" for call in calls]


def main() -> None:
    """Print them."""
    print(json.dumps({name: lookups(case) for name, case in CASES.items()}))


if __name__ == "__main__":
    main()
