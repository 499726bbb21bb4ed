"""The rows that emitted processes draw: every row once an epoch, whatever the sizes."""

from __future__ import annotations

import ast
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosscast.emit.compiler import compile_recipe
from frameworks.emitted_script import tiny_recipe
from property_settings import examples

Sampler = Callable[[int, int], Iterator[list[dict[str, np.ndarray]]]]
MICRO, STEPS, SEED = 2, 2, 7


@cache
def sampler(framework: str, tail: str, processes: int) -> Sampler:
    """Return the emitted `batches` of a process, by number of rows and rank."""
    recipe = tiny_recipe(
        batch={"micro_batch_size": MICRO, "global_batch_size": MICRO * STEPS * processes},
        accumulation={"tail": tail},
        distributed={"strategy": "data_parallel", "processes_per_node": processes},
    )
    (compiled,) = compile_recipe(recipe, [framework])
    tree = ast.parse(compiled.files["train.py"].text)
    wanted = ("epoch_order", "batches")
    body: list[ast.stmt] = [
        n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name in wanted
    ]
    assert len(body) == len(wanted)
    rank = [0]
    names: dict[str, Any] = {"np": np, "itertools": itertools, "lru_cache": lru_cache}
    names |= {"SEED": SEED, "MICRO_BATCH_SIZE": MICRO, "PROCESSES": processes}
    names |= {"GLOBAL_BATCH_SIZE": MICRO * STEPS * processes, "Stop": RuntimeError}
    names["process_rank"] = lambda: rank[0]
    future = "from __future__ import annotations\n"
    exec(compile(future + ast.unparse(ast.Module(body, [])), "train.py", "exec"), names)

    def windows(n_rows: int, number: int) -> Iterator[list[dict[str, np.ndarray]]]:
        found = names["batches"]({"labels": np.arange(n_rows)})
        while True:
            rank[0] = number
            yield next(found)

    return windows


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
