"""What is rounded once and what is kept for backward (CC368, precision.ops)."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.tensorflow


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_normalization_rounds_once(facts: dict[str, Any], half: str) -> None:
    found = facts["normalization"][half]
    assert found["wrong"] == [0, 0, 0]  # also of numbers whose squares overflow in float16
    assert (found["type"], found["weights"]) == (half, "float32")


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_a_float32_normalization_rounds_to_the_type_it_gets(
    facts: dict[str, Any], half: str
) -> None:
    assert facts["normalization"][half]["of float32 layer"] == 0


def test_a_mixed_normalization_of_keras_2_rounds_what_it_gets(keras2: dict[str, Any]) -> None:
    found = keras2["normalization"]
    assert found["half"] == 0
    assert found["float32"] > 100


def test_there_is_no_fused_attention(facts: dict[str, Any]) -> None:
    found = facts["attention"]
    assert "not supported in tensorflow backend" in found["answer"]
    assert not [name for name in found["parameters"] if "dropout" in name]


def test_what_keras_has_keeps_float32_weights(facts: dict[str, Any]) -> None:
    assert "float32" in facts["kept attention"]


def test_softmax_between_casts_keeps_its_float32_result(facts: dict[str, Any]) -> None:
    assert facts["kept softmax"] == ["float32"]


def test_a_mixed_normalization_keeps_float32(facts: dict[str, Any]) -> None:
    assert "float32" in facts["kept normalization"]


def test_gelu_keeps_more_than_its_input(facts: dict[str, Any]) -> None:
    assert facts["kept gelu"] == ["bfloat16"]


def test_half_numbers_round_what_divides_them(facts: dict[str, Any]) -> None:
    assert 1.001 < facts["half divisor"] < 1.0025  # 0.8984 for 0.9
