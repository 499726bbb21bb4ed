"""The rows that emitted processes draw: every row once an epoch, whatever the sizes."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosscast.emit.compiler import compile_recipe
from crosscast_parity.inside.emitted import batches
from frameworks.emitted_script import tiny_recipe
from property_settings import examples
from runtime_texts import rows_module, settings_of

Sampler = Callable[[int, int], Iterator[list[dict[str, np.ndarray]]]]
MICRO, STEPS = 2, 2


@cache
def sampler(framework: str, tail: str, processes: int) -> Sampler:
    """Return the emitted `batches` of a process, by number of rows and rank."""
    recipe = tiny_recipe(
        batch={"micro_batch_size": MICRO, "global_batch_size": MICRO * STEPS * processes},
        accumulation={"tail": tail},
        distributed={"strategy": "data_parallel", "processes_per_node": processes},
    )
    (compiled,) = compile_recipe(recipe, [framework])
    files = {path: file.text for path, file in compiled.files.items()}
    told, numbers = settings_of(files), rows_module(files).row_numbers
    assert told.global_batch_size == MICRO * STEPS * processes
    return lambda n_rows, rank: batches(numbers, {"labels": np.arange(n_rows)}, told, 0, rank)


@pytest.mark.parametrize("tail", ["flush_renormalized", "flush", "drop", "carry"])
@pytest.mark.parametrize("framework", ["torch", "paddle"])
@settings(max_examples=examples(40))
@given(processes=st.integers(2, 4), n_rows=st.integers(1, 70))
def test_every_row_once_an_epoch(framework: str, tail: str, processes: int, n_rows: int) -> None:
    size = MICRO * STEPS * processes
    left = n_rows % size
    missed = left if tail == "drop" or left < processes else 0
    missed = 0 if tail == "carry" else missed
    if missed == n_rows:
        return  # refused, see frameworks/test_torch_data.py
    windows = n_rows if tail == "carry" else -(-(n_rows - missed) // size)
    seen: Counter[int] = Counter()
    shares = [sampler(framework, tail, processes)(n_rows, rank) for rank in range(processes)]
    for _ in range(windows):
        held = [[row for m in next(share) for row in m["labels"].tolist()] for share in shares]
        assert max(map(len, held)) - min(map(len, held)) <= 1
        assert all(held)
        seen.update(itertools.chain(*held))
    if tail == "carry":  # n windows of `size` rows are `size` epochs
        assert seen == Counter(dict.fromkeys(range(n_rows), size))
    else:
        assert len(seen) == n_rows - missed
        assert set(seen.values()) == {1}
