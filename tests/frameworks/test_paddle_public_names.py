"""Data about names of Paddle 3 hold in the installed release, and cover what 2.6 had."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crosscast_migrate.binding.index import Index
from crosscast_paddle.migration.experimental.paddle_names.gone_names import RETURNED, WAYS
from crosscast_paddle.migration.experimental.paddle_names.old_graphs import REJECTING
from crosscast_paddle.migration.experimental.paddle_names.present import absent_part
from crosscast_paddle.migration.experimental.paddle_names.table import rows_for
from frameworks.subprocesses import paddle_2, run_python
from tiers import exhaustive

pytestmark = pytest.mark.paddle

HERE = Path(__file__).parent
_PARTS = (
    "amp", "audio", "autograd", "callbacks", "compat", "dataset", "device", "device.cuda",
    "distributed", "distributed.fleet", "distributed.fleet.utils", "distribution", "fft",
    "framework", "geometric", "hapi", "incubate", "incubate.nn", "incubate.optimizer", "io",
    "jit", "linalg", "metric", "nn", "nn.functional", "nn.initializer", "nn.layer", "nn.utils",
    "onnx", "optimizer", "optimizer.lr", "profiler", "quantization", "reader", "regularizer",
    "signal", "sparse", "sparse.nn", "static", "static.amp", "static.nn", "tensor", "text",
    "utils", "vision", "vision.datasets", "vision.models", "vision.ops", "vision.transforms"
)  # fmt: skip
MODULES = ("paddle", *(f"paddle.{part}" for part in _PARTS))
"""Modules that programs take names of."""
INTERNAL = {
    "paddle.distributed.checkpoint",
    "paddle.distributed.fleet.fleet_executor_utils",
    "paddle.fft.in_dynamic_mode",
    "paddle.jit.pir_dy2static",
    "paddle.utils.try_set_static_shape_tensor",
}
"""Names that 2.6 had, but did not document; no word on what to write instead."""


def public_names(framework: str) -> dict[str, Any]:
    found: dict[str, Any] = run_python(HERE / "run_paddle_public_names.py", framework, *MODULES)
    return found


@exhaustive("imports every public module of Paddle")
def test_the_names_are_those_of_the_installed_paddle() -> None:
    index = Index.load("crosscast_paddle.names:NAMES")
    assert public_names("paddle") == {
        module: sorted(index.names_in(module) or ()) for module in MODULES
    }


@pytest.mark.parametrize("framework", paddle_2())
def test_what_is_gone_since_paddle_2_has_a_way_out(framework: str) -> None:
    old = {f"{home}.{name}" for home, names in public_names(framework).items() for name in names}
    gone = {name for name in old if absent_part(name) == name}
    assert gone - INTERNAL - WAYS.keys() - rows_for("static").keys() == set()
    assert not old & RETURNED.keys()


def test_names_that_came_back_exist() -> None:
    assert not any(map(absent_part, RETURNED))
    assert all(map(absent_part, WAYS))


@exhaustive("calls every listed function under the flag of the old graphs")
def test_functions_reject_the_graphs_of_fluid() -> None:
    program = HERE / "run_paddle_old_graphs.py"
    assert run_python(program, "paddle", *sorted(REJECTING), fork=False) == []
