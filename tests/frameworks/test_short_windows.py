"""What CC304 says: several processes leave a short last window out if it has too few rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frameworks.emitted_script import emit, tiny_recipe
from frameworks.subprocesses import run_python

pytestmark = [pytest.mark.torch, pytest.mark.paddle]

PROGRAM = """
import itertools
import json

import train
from runtime.rows import row_numbers

found = {}
for count in (17, 18):
    for rank in (0, 1):
        windows = itertools.islice(row_numbers(count, train.SETTINGS, rank=rank), 2)
        sizes = [[len(rows) for rows in window] for window in windows]
        found[f"{count} rows, process {rank}"] = sizes
print(json.dumps(found))
"""


@pytest.mark.parametrize("target", ["torch", "paddle"])
def test_a_window_with_too_few_rows_is_left_out(tmp_path: Path, target: str) -> None:
    recipe = tiny_recipe(
        batch={"micro_batch_size": 4, "global_batch_size": 16},
        distributed={"strategy": "data_parallel", "processes_per_node": 2},
    )
    program = emit(recipe, target, tmp_path) / "program.py"
    program.write_text(PROGRAM)
    found: dict[str, Any] = run_python(program, target)
    full = [4, 4]
    # Of 17 rows one is left: the second window is the first one of the next epoch.
    assert found["17 rows, process 0"] == found["17 rows, process 1"] == [full, full]
    # Of 18 rows two are left, one for each process.
    assert found["18 rows, process 0"] == found["18 rows, process 1"] == [full, [1]]
