"""Which rows an emitted script trains on: every `tail` policy against an independent count."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest

from frameworks.emitted_script import TINY, emit, tiny_recipe
from frameworks.subprocesses import run_python

pytestmark = pytest.mark.torch

MICRO, GLOBAL, SEED = 4, 16, 7
TAILS = ("flush_renormalized", "flush", "drop", "carry")
ROWS = (1, 3, 16, 17, 31, 44, 48)
WINDOWS = 13
PRINT = """
import itertools, json, sys
from pathlib import Path
from crosscast_parity.inside.emitted import offered
from crosscast_parity.inside.script import loaded

found = {}
for folder in map(Path, sys.argv[1:]):
    with loaded(folder / "train.py") as train:
        numbers, stop = offered(train, "row_numbers"), offered(train, "Stop")
        for n_rows, rank in itertools.product(ROWS, range(train.SETTINGS.processes)):
            for start in (0, 5):
                key = f"{folder.name} {n_rows} {rank} {start}"
                try:
                    endless = numbers(n_rows, train.SETTINGS, start, rank)
                    windows = itertools.islice(endless, WINDOWS - start)
                    found[key] = [[rows.tolist() for rows in window] for window in windows]
                except stop as error:
                    found[key] = [error.exit_code, str(error)]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    root = tmp_path_factory.mktemp("data")
    folders = []
    for tail, shuffle, processes in itertools.product(TAILS, (True, False), (1, 2)):
        spread = {"strategy": "data_parallel", "processes_per_node": 2} if processes == 2 else {}
        recipe = tiny_recipe(
            data=TINY["data"] | {"shuffle": shuffle},
            accumulation={"tail": tail},
            distributed=spread,
        )
        folders.append(emit(recipe, "torch", root / f"{tail}-{shuffle}-{processes}"))
    program = root / "windows.py"
    program.write_text(f"ROWS, WINDOWS = {ROWS}, {WINDOWS}\n{PRINT}")
    result: dict[str, Any] = run_python(program, "torch", *folders)
    return result


def order(n_rows: int, epoch: int, shuffle: bool) -> list[int]:
    if not shuffle:
        return list(range(n_rows))
    return [int(i) for i in np.random.default_rng([SEED, epoch]).permutation(n_rows)]


def expected(tail: str, n_rows: int, shuffle: bool, least: int) -> list[list[int]] | None:
    """Return the rows of each window, by walking through the epochs; None if there are none."""
    windows: list[list[int]] = []
    open_window: list[int] = []
    for epoch in range(WINDOWS * GLOBAL // n_rows + WINDOWS + 1):
        for row in order(n_rows, epoch, shuffle):
            open_window.append(row)
            if len(open_window) == GLOBAL:
                windows.append(open_window)
                open_window = []
        if tail != "carry":
            if tail != "drop" and len(open_window) >= least:
                windows.append(open_window)
            open_window = []
    return windows[:WINDOWS] or None


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("tail", TAILS)
def test_windows(found: dict[str, Any], tail: str, shuffle: bool, processes: int) -> None:
    for n_rows, start in itertools.product(ROWS, (0, 5)):
        ranks = [
            found[f"{tail}-{shuffle}-{processes} {n_rows} {rank} {start}"]
            for rank in range(processes)
        ]
        windows = expected(tail, n_rows, shuffle, least=processes)
        if windows is None:
            assert all(rank[0] == 2 and str(n_rows) in rank[1] for rank in ranks)
            continue
        for number, rows in enumerate(windows[start:]):
            held = [list(itertools.chain(*rank[number])) for rank in ranks]
            assert Counter(itertools.chain(*held)) == Counter(rows)
            assert max(map(len, held)) - min(map(len, held)) <= 1
            if processes == 1:
                assert held == [rows]  # in this order
            for rank in ranks:
                sizes = [len(micro) for micro in rank[number]]
                assert all(size == MICRO for size in sizes[:-1])
                assert 1 <= sizes[-1] <= MICRO


@pytest.mark.parametrize("shuffle", [True, False])
def test_carry_leaves_no_row_out(found: dict[str, Any], shuffle: bool) -> None:
    for n_rows in ROWS:
        windows = found[f"carry-{shuffle}-1 {n_rows} 0 0"]
        seen = Counter(itertools.chain(*itertools.chain(*windows)))
        assert seen.total() == WINDOWS * GLOBAL
        assert max(seen.values()) - min(seen[row] for row in range(n_rows)) <= 1
