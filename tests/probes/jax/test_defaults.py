"""The table of JAX', Flax' and optax' defaults is what the installed release has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crosscast.targets.defaults import holding
from crosscast_jax.target.defaults import DEFAULTS
from probes.default_values import ask, installed, label

pytestmark = pytest.mark.jax
VERSIONS = installed("optax", "flax", "jax")
HERE = [label(entry) for entry in holding(DEFAULTS, VERSIONS)]


@pytest.fixture(scope="module")
def answers() -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    return ask(Path(__file__).parent, "jax", DEFAULTS, VERSIONS)


@pytest.mark.parametrize("api", HERE)
def test_defaults_are_as_the_table_says(
    answers: dict[str, tuple[dict[str, Any], dict[str, Any]]], api: str
) -> None:
    told, true = answers[api]
    assert true == told
