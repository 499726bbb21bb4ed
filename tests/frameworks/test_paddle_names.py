"""Programs of Paddle 1 that were migrated compute in Paddle 3 what they did in 1.8.5.

`paddle1/names.txt` has a case for the rows of the table, `paddle1/numbers.json` its results in
1.8.5. With CROSSCAST_PADDLE_1_8 naming a Python that has Paddle 1.8, they are recorded again.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from crosscast.messages.source import Source
from crosscast_migrate.in_place import InPlaceMigration, migrate_in_place
from crosscast_migrate.registry import codemods_to
from crosscast_paddle.migration.experimental.paddle_names.table import all_rows
from frameworks.subprocesses import older, require, run_python
from tiers import exhaustive

pytestmark = pytest.mark.paddle

HERE = Path(__file__).parent
OLD = HERE / "paddle1" / "names.txt"
NUMBERS = json.loads((HERE / "paddle1" / "numbers.json").read_text())
PADDLE_1_8 = "needs Paddle 1.8: let CROSSCAST_PADDLE_1_8 name its Python (docs/testing.md)"
FILLED = """\
import json

import numpy as np
import paddle.fluid as fluid

x = fluid.data("x", [-1, 3])
made = [
    fluid.layers.fill_constant_batch_size_like(x, [-1, 2], "int64", 3),
    fluid.layers.uniform_random_batch_size_like(x, [-1, 2], "float64"),
]
executor = fluid.Executor(fluid.CPUPlace())
found = executor.run(feed={"x": np.zeros((4, 3), "float32")}, fetch_list=made)
print(json.dumps([[str(value.dtype), value.shape] for value in found]))
"""
NOT_RUN = {
    *("nce", "spectral_norm", "conv3d_transpose"),
    *("sequence_conv", "sequence_softmax", "sequence_pool", "sequence_expand", "gather_tree"),
    *(
        "sequence_conv_pool",
        "sequence_first_step",
        "sequence_last_step",
        "uniform_random",
        "gaussian_random",
        "Print",
    ),
    *("py_func", "create_array"),
    *("uniform_random_batch_size_like", "double_buffer"),
    "autoincreased_step_counter",
}
"""Layers that are not run: random, of rows with LoD, with functions, or like another one."""


def migrated(old: Path) -> InPlaceMigration:
    return migrate_in_place([Source("train.py", old.read_text())], codemods_to("paddle3"))


def close(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(close, one, other))
    if isinstance(one, float) and isinstance(other, int | float):
        return abs(one - other) <= 1e-5 + 1e-4 * abs(one)
    return bool(one == other)


def run(text: str, folder: Path, framework: str = "paddle") -> Any:
    program = folder / "program.py"
    program.write_text(text)
    # The flag of the graphs has an effect only before paddle is imported.
    return run_python(program, framework, fork=False)


def test_every_case_computes_what_it_did(tmp_path: Path) -> None:
    require("paddle")
    moved = migrated(OLD)
    assert not moved.refusals
    assert not moved.problems
    found = run(moved.texts["train.py"], tmp_path)
    assert found.keys() == NUMBERS.keys()
    assert [name for name in NUMBERS if not close(NUMBERS[name], found[name])] == []


def test_every_layer_has_a_case() -> None:
    words = set(re.findall(r"\w+", OLD.read_text()))
    names = {
        name.rpartition(".")[2]
        for row in all_rows()
        if row.mode == "static" and not row.refused
        for name in row.old
        if name.startswith(("layers.", "nets.", "clip.Gradient", "regularizer."))
    }
    assert names - words == NOT_RUN & names
    assert not NOT_RUN & names & words


def test_rows_are_filled_with_the_type_that_is_asked_for(tmp_path: Path) -> None:
    require("paddle")
    moved = migrate_in_place([Source("train.py", FILLED)], codemods_to("paddle3"))
    assert run(moved.texts["train.py"], tmp_path) == [["int64", [4, 2]], ["float64", [4, 2]]]


@exhaustive("that the names of rows without a case exist in the installed Paddle")
def test_every_new_name_exists(tmp_path: Path) -> None:
    require("paddle")
    names = sorted({row.new for row in all_rows() if row.new})
    assert run_python(HERE / "run_paddle_names.py", "paddle", *names) == []


@exhaustive("that static amp of Paddle 1 scales, skips and keeps a learning rate in the graph")
def test_a_program_in_half_keeps_its_rate_and_scale(tmp_path: Path) -> None:
    require("paddle")
    moved = migrated(HERE / "paddle1" / "half.txt")
    assert not moved.refusals
    found = run(moved.texts["train.py"], tmp_path)
    # The rates are 0.5, 0.4 and 0.3; each weight has the gradient 1 / 2. The last step overflows.
    assert found["weights"] == pytest.approx([0.25, 0.05, -0.1, -0.1])
    assert found["scales"] == [8.0, 16.0, 16.0, 16.0]


@exhaustive("the recorded numbers, in the old release")
@pytest.mark.skipif("paddle@1.8" not in older("paddle"), reason=PADDLE_1_8)
def test_the_numbers_are_those_of_the_old_release(tmp_path: Path) -> None:
    found = run(OLD.read_text(), tmp_path, "paddle@1.8")
    assert [name for name in NUMBERS if not close(NUMBERS[name], found[name])] == []
