"""Dynamic programs of Paddle 1.8 compute the same numbers in Paddle 3 after their migration."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast.messages.source import Source
from crosscast_migrate.in_place import migrate_in_place
from crosscast_migrate.registry import codemods_to
from frameworks.paddle_dynamic_cases import programs
from frameworks.subprocesses import start
from tiers import cases, exhaustive, selected

pytestmark = pytest.mark.paddle

HERE = Path(__file__).parent
PROGRAMS = programs()
EXPECTED = json.loads((HERE / "paddle_dynamic_expected.json").read_text())
PADDLE_1_8 = "needs Paddle 1.8: let CROSSCAST_PADDLE_1_8 name its Python (docs/testing.md)"
EACH = pytest.mark.parametrize(
    "name",
    cases(
        PROGRAMS,
        quick=[
            *("elementwise_axis_act", "cross_entropy", "Conv2D", "Pool2D_default_stride"),
            *("train_Momentum", "schedule_PiecewiseDecay", "eval_dropout", "saved"),
        ],
        reason="one program for each name of the table; `make test` runs some",
    ),
)


def numbers(value: Any) -> list[float]:
    """Return the numbers of nested lists."""
    if isinstance(value, list):
        return [number for item in value for number in numbers(item)]
    return [float(value)]


def executed(texts: dict[str, str], framework: str, folder: Path) -> dict[str, Any]:
    """Run programs in one process of a framework."""
    (folder / "programs.json").write_text(json.dumps(texts))
    ran = start(
        HERE / "run_paddle_dynamic.py", framework, folder / "programs.json", folder / "results.json"
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    found: dict[str, Any] = json.loads((folder / "results.json").read_text())
    return found


def migrated(name: str) -> str:
    """Return a program after its migration, which must leave nothing."""
    found = migrate_in_place([Source("train.py", PROGRAMS[name])], codemods_to("paddle3"))
    assert not found.problems
    assert not found.refusals, found.refusals
    return found.texts["train.py"]


@pytest.fixture(scope="module")
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What every migrated program that is asked for left in the installed Paddle."""
    texts = {name: migrated(name) for name in sorted(set(selected(request, "name")))}
    return executed(texts, "paddle", tmp_path_factory.mktemp("dynamic"))


@EACH
def test_a_migrated_program_computes_what_it_did(ran: dict[str, Any], name: str) -> None:
    assert isinstance(ran[name], list), ran[name]
    assert numbers(ran[name]) == pytest.approx(numbers(EXPECTED[name]), rel=1e-4, abs=1e-6)


@exhaustive("runs every program in Paddle 1.8")
@pytest.mark.skipif("CROSSCAST_PADDLE_1_8" not in os.environ, reason=PADDLE_1_8)
def test_the_recorded_numbers_are_those_of_paddle_1_8(tmp_path: Path) -> None:
    found = executed(PROGRAMS, "paddle@1.8", tmp_path)
    assert found.keys() == EXPECTED.keys()
    for name, expected in EXPECTED.items():
        assert np.allclose(numbers(found[name]), numbers(expected), rtol=1e-6, atol=1e-9), name


@exhaustive("rounds halves in Paddle 1.8")
@pytest.mark.skipif("CROSSCAST_PADDLE_1_8" not in os.environ, reason=PADDLE_1_8)
def test_halves_have_no_fixed_result_in_paddle_1_8(tmp_path: Path) -> None:
    """Eight values or more are rounded together on a CPU, to even numbers; others away from zero.

    So the migrations round away from zero, as few values and GPUs did.
    """
    text = "import numpy as np, paddle.fluid as fluid\nwith fluid.dygraph.guard():\n"
    text += "    x = fluid.dygraph.to_variable(np.full({}, 2.5, 'float32'))\n"
    text += "    result = fluid.layers.round(x)\n"
    found = executed({"4": text.format(4), "8": text.format(8)}, "paddle@1.8", tmp_path)
    assert found == {"4": [3.0] * 4, "8": [2.0] * 8}
