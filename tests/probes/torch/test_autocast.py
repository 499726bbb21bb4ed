"""Autocast on CUDA stores what the tables of rules say, and the examples keep what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crosscast_reading.lint.registry import all_rules
from crosscast_reading.pysource.libraries.precision_tables import Lookup
from crosscast_torch.words.mixed_precision import MIXED_PRECISION
from frameworks.subprocesses import run_python

pytestmark = pytest.mark.torch

HALVES = ("float16", "bfloat16")
ROWS, TOKENS, WIDTH, HEADS, LAYERS = 4, 128, 768, 12, 12
"""Of the examples; the first two as in `autocast.py`."""


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    rules = all_rules()
    examples = {code: rules[code].wrong for code in ("CL407", "CL408", "CL409")}
    given = json.dumps({"right": rules["CL407"].right, **examples})
    read: dict[str, Any] = run_python(Path(__file__).with_name("autocast.py"), "torch", given)
    return read


@pytest.mark.parametrize("half", HALVES)
def test_operations_store_what_their_row_says(facts: dict[str, Any], half: str) -> None:
    lookup = Lookup(MIXED_PRECISION)
    types = facts["types"][half]
    named = {name: row for name in types if (row := lookup.named(name)) is not None}
    assert len(named) == 17
    stored = {"half": half, "input": half, "float32": "float32"}
    assert {name: types[name] for name in named} == {
        name: stored[row.stores] for name, row in named.items()
    }


@pytest.mark.parametrize("half", HALVES)
def test_a_sum_is_float32_but_one_in_place_is_not(facts: dict[str, Any], half: str) -> None:
    assert facts["types"][half]["half + float32"] == "float32"
    assert facts["types"][half]["half += float32"] == half


def test_a_normalization_costs_two_bytes_a_number(facts: dict[str, Any]) -> None:
    """Two in each layer, of which the first one gets a half; a share more in small tensors."""
    extra = facts["kept"]["CL407"] - facts["kept"]["right"]
    assert extra == pytest.approx((2 * LAYERS - 1) * 2 * WIDTH * ROWS * TOKENS, rel=0.01)


def test_attention_by_hand_costs_six_bytes_a_pair(facts: dict[str, Any]) -> None:
    extra = facts["kept"]["CL408"] - facts["kept"]["right"]
    assert extra == pytest.approx(6 * LAYERS * ROWS * HEADS * TOKENS**2, rel=0.01)


def test_a_cast_costs_memory(facts: dict[str, Any]) -> None:
    extra = facts["kept"]["CL409"] - facts["kept"]["right"]
    assert extra > LAYERS * 2 * WIDTH * ROWS * TOKENS
