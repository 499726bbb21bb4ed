"""The rows of moved arguments and changed defaults hold in the installed Paddle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crosscast.messages.source import Source
from crosscast_migrate.in_place import migrate_in_place
from crosscast_migrate.registry import codemods_to
from crosscast_paddle.migration.experimental.paddle_two.changed_results import RESULTS
from crosscast_paddle.migration.experimental.paddle_two.moved_arguments import BY_NAME, DEFAULTS
from frameworks.subprocesses import paddle_2, run_python
from tiers import exhaustive

pytestmark = pytest.mark.paddle

PROGRAM = Path(__file__).parent / "run_paddle_signatures.py"


def test_arguments_moved_where_the_rows_say() -> None:
    found: dict[str, Any] = run_python(PROGRAM, "paddle", *BY_NAME, *DEFAULTS)
    for name, row in BY_NAME.items():
        order = [parameter for parameter, _ in found[name]]
        assert order[: row.kept] == list(row.order[: row.kept]), name
        following = order[row.kept] if len(order) > row.kept else ""
        assert following == row.now, name
    for name, default in DEFAULTS.items():
        assert found[name][default.place] == [default.parameter, default.now], name


@pytest.mark.parametrize("framework", paddle_2())
def test_paddle_two_had_the_order_of_the_rows(framework: str) -> None:
    found: dict[str, Any] = run_python(PROGRAM, framework, *BY_NAME, *DEFAULTS)
    for name, row in BY_NAME.items():
        assert [parameter for parameter, _ in found[name]] == list(row.order), name
    for name, default in DEFAULTS.items():
        assert found[name][default.place] == [default.parameter, default.before], name


RESULTS_OF = Path(__file__).parent / "run_paddle_results.py"
EXAMPLES = [row.example for row in RESULTS]
AT_PRESENT = [
    [[2], [0, 2]],
    [[], pytest.approx(0.7038, abs=1e-4)],
    [[4], [0.0, 2.0, 2.0, -0.0]],
    [[], False],
]
IN_2_6 = [
    [[2, 1], [[0], [2]]],
    [[], pytest.approx(1.4076, abs=1e-4)],
    [[4], [1.0, 2.0, 3.0, -1.0]],
    [[], True],
]


def test_results_are_those_of_the_rows() -> None:
    assert run_python(RESULTS_OF, "paddle", *EXAMPLES) == AT_PRESENT


@pytest.mark.parametrize("framework", paddle_2())
def test_paddle_two_had_other_results(framework: str) -> None:
    assert run_python(RESULTS_OF, framework, *EXAMPLES) == IN_2_6


FETCHED = """\
import json
import numpy as np
import paddle

paddle.enable_static()
x = paddle.static.data("x", [None, 4])
loss = paddle.mean(paddle.static.nn.fc(x, 2))
paddle.optimizer.SGD(0.1).minimize(loss)
exe = paddle.static.Executor(paddle.CPUPlace())
exe.run(paddle.static.default_startup_program())
rows = {"x": np.ones((3, 4), "float32")}
first = exe.run(feed=rows, fetch_list=[loss])[0][0]
cost, shares = exe.run(feed=rows, fetch_list=[loss, x])
print(json.dumps([float(first), float(cost[0]), shares[0].tolist()]))
"""


@exhaustive("that fetched scalars are read where their dimension is gone")
def test_a_fetched_scalar_is_read(tmp_path: Path) -> None:
    found = migrate_in_place([Source("train.py", FETCHED)], codemods_to("paddle3"))
    assert not found.refusals
    program = tmp_path / "train.py"
    program.write_text(found.texts["train.py"])
    first, cost, shares = run_python(program, "paddle", fork=False)
    assert first > cost
    assert shares == [1.0] * 4
