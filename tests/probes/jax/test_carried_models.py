"""What the tables of models say of Flax NNX is what the installed release does."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from crosscast_jax.models import MODELS
from crosscast_jax.models.initial_values import DEFAULTS
from crosscast_migrate.models.initials import fans
from crosscast_migrate.models.rows import REQUIRED, Reading
from frameworks.subprocesses import run_python

pytestmark = pytest.mark.jax

_FREE = frozenset({"weight_initial", "bias_initial", "_"})
"""Settings whose default in the table is another word for that of Flax."""
_FUNCTIONS = frozenset({"dot_general", "conv_general_dilated"})


def row(name: str, inputs: int, reading: Reading) -> list[Any]:
    """Return a row of the table as the program compares it."""
    arguments = [
        (
            argument.name,
            "..."
            if argument.default is REQUIRED
            or argument.setting in _FREE
            or argument.name in _FUNCTIONS
            else argument.default,
        )
        for argument in reading.arguments
    ]
    return [name, inputs, arguments]


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    reading, writing = MODELS.reading, MODELS.writing
    assert reading is not None
    assert writing is not None
    layers = [row(f"flax.nnx.{name}", 0, each) for name, each in reading.layers.items()]
    functions = [row(name, max(each.inputs, 1), each) for name, each in reading.functions.items()]
    program = Path(__file__).with_name("carried_models.py")
    rows = json.dumps([*layers, *functions])
    answer: dict[str, Any] = run_python(program, "jax", rows, writing.helpers["uniform"])
    return answer


def test_arguments_and_defaults_are_those_of_the_tables(facts: dict[str, Any]) -> None:
    assert facts["wrong"] == []


SIZES: dict[str, tuple[str, dict[str, Any]]] = {
    "linear": ("linear", {"inputs": 64, "units": 500}),
    "conv": ("conv", {"kernel": (3, 3), "inputs": 8, "filters": 500, "groups": 1}),
    "grouped": ("conv", {"kernel": (3, 3), "inputs": 8, "filters": 500, "groups": 4}),
    "embedding": ("embedding", {"count": 500, "width": 64}),
}
KEPT = 0.87962566103423978
"""Standard deviation of a standard normal distribution that is cut at two."""


@pytest.mark.parametrize("name", SIZES)
def test_layers_start_from_what_the_tables_say(facts: dict[str, Any], name: str) -> None:
    kind, settings = SIZES[name]
    initial = DEFAULTS[kind]["weight"](fans(kind, settings))
    low, high, deviation = facts["drawn"][name]
    if initial.name == "truncated_normal":
        assert deviation == pytest.approx(KEPT * initial.number, rel=0.03)
        assert high == pytest.approx(2 * initial.number, rel=0.01)
        assert low == pytest.approx(-2 * initial.number, rel=0.01)
    else:
        assert initial.name == "normal"
        assert deviation == pytest.approx(initial.number, rel=0.03)
        assert high > 3 * initial.number


def test_initializers_draw_what_is_written(facts: dict[str, Any]) -> None:
    low, high, deviation = facts["drawn"]["uniform"]
    assert 0 <= low < 1e-3  # it draws none below zero: the written one does
    assert high == pytest.approx(0.5, rel=1e-3)
    low, high, deviation = facts["drawn"]["helper"]
    assert (low, high) == pytest.approx((-0.5, 0.5), rel=1e-3)
    assert deviation == pytest.approx(0.5 / math.sqrt(3), rel=0.02)
    low, high, deviation = facts["drawn"]["truncated"]
    assert (low, high) == pytest.approx((-0.2, 0.2), rel=0.01)
    assert deviation == pytest.approx(0.1 * KEPT, rel=0.02)
    assert facts["drawn"]["normal"][2] == pytest.approx(0.1, rel=0.02)


def test_two_functions_have_another_derivative_at_their_corner(facts: dict[str, Any]) -> None:
    """Those of the others are the slope and 0: what is written has them."""
    expected = {"leaky_relu": 1.0, "chosen": 0.01, "abs": 1.0, "by its sign": 0.0}
    same = {"relu": 0.0, "relu6": 0.0, "relu6 at 6": 0.0, "elu": 1.0}
    assert facts["derivatives"] == pytest.approx({**expected, **same})


def test_pools_move_by_one_and_take_the_first_of_equals(facts: dict[str, Any]) -> None:
    assert facts["strides"] == [1, 3, 1]
    assert facts["tie"] == [1.0, 0.0, 0.0, 0.0]


def test_running_statistics_are_those_of_the_batch(facts: dict[str, Any]) -> None:
    """PyTorch keeps n / (n - 1) times the variance."""
    assert facts["statistics"] == pytest.approx([1.0, 2 / 3])


def test_a_layer_normalization_has_weights_along_one_axis(facts: dict[str, Any]) -> None:
    assert facts["axes"] == "TypeError"
