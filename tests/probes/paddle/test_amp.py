"""On CPU, Paddle still leaves mixed precision out and goes on with a warning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crosscast_paddle.words.mixed_precision import MIXED_PRECISION
from crosscast_reading.pysource.libraries.precision_tables import Lookup
from frameworks.subprocesses import paddle_2, run_python

pytestmark = pytest.mark.paddle


def read(target: str) -> dict[str, Any]:
    found: dict[str, Any] = run_python(Path(__file__).with_name("facts.py"), target, "amp")
    return found


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    return read("paddle")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_auto_cast_computes_in_float32_on_cpu(facts: dict[str, Any], dtype: str) -> None:
    assert facts["device"] == "cpu"
    assert not facts["products"][dtype]["half"]
    assert "it makes no effect" in facts["products"][dtype]["warnings"][0]


def test_scaler_is_off_on_cpu(facts: dict[str, Any]) -> None:
    scaler = facts["scaler"]
    assert not scaler["enabled"]
    assert scaler["state"] == {}
    assert scaler["scaled"] == scaler["told"] == 1.0
    assert "it makes no effect" in scaler["warnings"][0]


@pytest.mark.parametrize("target", paddle_2())
def test_a_scaler_that_is_off_has_no_scale_in_paddle_2(target: str) -> None:
    assert "no attribute '_init_loss_scaling'" in read(target)["scaler"]["told"]


def test_auto_cast_knows_names_of_operations_only() -> None:
    lists = run_python(Path(__file__).with_name("knobs.py"), "paddle", "lists")
    expected = ["enable", "custom_white_list", "custom_black_list", "level", "dtype"]
    assert lists["arguments"][:5] == expected
    assert "overlap" in lists["both"]  # one operation has one type, wherever it stands


NAMES = {
    "matmul": "paddle.matmul",
    "dense layer": "paddle.nn.functional.linear",
    "softmax": "paddle.nn.functional.softmax",
    "gelu": "paddle.nn.functional.gelu",
    "tanh": "paddle.tanh",
    "layer_norm": "paddle.nn.functional.layer_norm",
    "embedding": "paddle.nn.functional.embedding",
    "concat": "paddle.concat",
}
"""Operations of the program that is asked, and what the table of rules calls them."""


def test_level_o1_stores_what_the_table_says_and_o2_stores_half() -> None:
    program = Path(__file__).parents[2] / "frameworks" / "paddle_autocast_facts.py"
    types = run_python(program, "paddle", "graph")
    rows = {word: Lookup(MIXED_PRECISION).named(name) for word, name in NAMES.items()}
    stored = {"half": "bfloat16", "input": "bfloat16", "float32": "float32"}
    expected = {word: stored[row.stores] for word, row in rows.items() if row is not None}
    assert len(expected) == 8
    assert {word: types["O1"][word] for word in expected} == expected
    assert types["O2"]["layer_norm"] == types["O2"]["softmax"] == "bfloat16"
    assert MIXED_PRECISION.half_throughout["level"][0] == "O2"


def test_lists_of_o1_are_the_same_for_both_halves() -> None:
    lists = run_python(Path(__file__).with_name("knobs.py"), "paddle", "lists")
    assert {"layer_norm", "group_norm", "softmax"} <= set(lists["black"]["float16"])
    assert lists["black"]["float16"] == lists["black"]["bfloat16"]
