"""The files of scripts that report to every tracker, whole."""

from __future__ import annotations

import pytest

from crosscast.emit.compiler import compile_recipe
from emission import goldens
from frameworks.emitted_script import tiny_recipe

TRACKING = {
    "tensorboard": True,
    "mlflow": {"experiment": "tiny models"},
    "wandb": {"project": "tiny", "name": "it's the first"},
    "trackio": True,
}


@pytest.mark.parametrize("target", ["torch", "tensorflow", "paddle", "jax"])
def test_a_script_that_reports_is_that_of_the_repository(target: str) -> None:
    (compiled,) = compile_recipe(tiny_recipe(tracking=TRACKING), [target])
    goldens.check(compiled, f"{target}-tracking")
