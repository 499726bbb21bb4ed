"""Arguments, their order and their defaults in the tables of models are those of the packages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from crosscast_migrate.models.calls import COMPOSED
from crosscast_migrate.models.installed import model_tables
from crosscast_migrate.models.rows import REQUIRED, Argument
from frameworks.subprocesses import run_python
from probes.model_rows import UNKNOWN

_FREE = frozenset({"weight_initial", "bias_initial", "_"})
"""Settings whose default in the table is another word for that of the package."""
_OUTSIDE_MATH = ("matmul", "cast", "expand_dims", "squeeze", "stack")
_OTHERWISE = frozenset(
    {
        *("tensorflow.nn.softmax", "tensorflow.nn.log_softmax"),  # no axis is the last one
        "paddle.swapaxes",  # a decorator takes two axes for a permutation
        "keras.ops.matmul",  # TensorFlow has arguments beside, in a row of both
        *("tensorflow.log", *(f"tensorflow.math.{name}" for name in _OUTSIDE_MATH)),
        *("flax.nnx.dot_product_attention", "paddle.nn.functional.scaled_dot_product_attention"),
    }
)
"""Functions that say otherwise what they take, or that only one package of a row has; attention by
its keywords behind the mask."""
_IN_ORDER = frozenset({*COMPOSED, "cell"})
"""Kinds of layers whose arguments are compared by their places, too."""
BACKENDS = [
    pytest.param(name, marks=getattr(pytest.mark, name))
    for name in ("torch", "tensorflow", "paddle", "jax")
]


def rows(backend: str) -> Iterator[list[Any]]:
    """Yield the rows of a framework: name, inputs before the arguments, arguments."""
    reading = model_tables()[backend].reading
    assert reading is not None
    for name, row in reading.layers.items():
        made = f"{reading.package}.{name}"
        yield [made, 0, _arguments(row.arguments), row.kind in _IN_ORDER]
        if row.call:
            yield [f"{made}.{reading.forward}", 0, _arguments(row.call), True]
    for name, row in reading.functions.items():
        if name not in _OTHERWISE and row.kind != "choose":
            yield [name, max(row.inputs, 1), _arguments(row.arguments), False]
    for name, row in reading.attends.items():
        yield [name, 0, _arguments(row.call), name not in _OTHERWISE]


def _arguments(arguments: Sequence[Argument]) -> list[tuple[str, Any]]:
    return [
        (each.name, UNKNOWN if each.default is REQUIRED or each.setting in _FREE else each.default)
        for each in arguments
    ]


@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_are_what_the_package_has(backend: str) -> None:
    program = Path(__file__).with_name("model_rows.py")
    assert run_python(program, backend, json.dumps(list(rows(backend)))) == []
