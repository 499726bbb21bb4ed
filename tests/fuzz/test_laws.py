"""Laws that hold for emitted steps, whatever the reference says."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast.emit.compiler import compile_recipe
from crosscast.recipe.document import Recipe
from crosscast_parity.toy.compare import Seen
from crosscast_parity.toy.faults import Fault, Faults
from crosscast_parity.toy.model import Toy, make_toy
from crosscast_parity.toy.running import run_text
from crosscast_parity.toy.worker import Worker
from frameworks.emitted_script import FLOAT16, tiny_recipe
from frameworks.subprocesses import require
from fuzz.link import make_worker
from tiers import cases

ADAM = {"name": "adamw", "learning_rate": 0.01, "weight_decay": 0.1}
NORM = {"kind": "global_norm", "max_norm": 5.0}
BOUNDS = {"mode": "dynamic", "init_scale": 32.0, "min_scale": 16.0, "max_scale": 48.0}
MACHINE = BOUNDS | {"growth_interval": 2}
CALM = Faults(seed=3, windows=((2, 2),) * 4)


@pytest.fixture(
    scope="module",
    params=cases(
        [
            pytest.param(name, marks=[getattr(pytest.mark, name)])
            for name in ("torch", "tensorflow", "paddle", "jax")
        ],
        quick=["torch", "tensorflow", "paddle"],
        reason="laws of steps in JAX",
    ),
)
def worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    require(request.param)
    worker = make_worker(request.param, eager=True)
    yield worker
    worker.stop()


def make(rows: int, steps: int, **sections: Any) -> Recipe:
    batch = {"micro_batch_size": rows, "global_batch_size": rows * steps}
    return tiny_recipe(**{"batch": batch, "optimizer": ADAM, "clipping": NORM, **sections})


def seen(worker: Worker, recipe: Recipe, toy: Toy) -> Seen:
    (compiled,) = compile_recipe(recipe, [worker.framework], form="step")
    return run_text(worker, compiled.files["step.py"].text, toy)


def in_one(toy: Toy) -> Toy:
    """The toy with all micro-batches of a window put together."""
    windows = []
    for window in toy.windows:
        arrays = {n: np.sum([batch[n] for batch in window], axis=0) for n in toy.parameters}
        labels = np.concatenate([batch["labels"] for batch in window])
        windows.append([{**arrays, "ids": window[0]["ids"], "labels": labels}])
    return replace(toy, windows=windows)


def test_many_micro_batches_are_one_large_one(worker: Worker) -> None:
    toy = make_toy(make(2, 2), CALM)
    for window in toy.windows:  # rows of a table can only be added where they are the same
        for batch in window:
            batch["ids"] = window[0]["ids"]
    many, run = seen(worker, make(2, 2), toy), seen(worker, make(4, 1), in_one(toy))
    for left, right in zip(many.rows, run.rows, strict=True):
        same = ("window", "rows", "lr", "skipped", "updates")
        assert [left[key] for key in same] == [right[key] for key in same]
        assert (left["n_micro"], right["n_micro"]) == (2, 1)
        assert left["loss"] == pytest.approx(right["loss"], rel=1e-5, abs=1e-5)
        assert left["grad_norm"] == pytest.approx(right["grad_norm"], rel=1e-6)
    for key, array in many.tensors[-1].items():
        other = run.tensors[-1][key]
        np.testing.assert_allclose(array, other, rtol=2e-5, atol=2e-6, err_msg=key)


def test_a_power_of_two_as_static_scale_changes_nothing(worker: Worker) -> None:
    def scaled(scale: float) -> Recipe:
        static = {"mode": "static", "scale": scale}
        return make(2, 2, precision=FLOAT16, loss_scaling=static)

    toy = make_toy(scaled(1.0), CALM)
    plain, *others = (seen(worker, scaled(scale), toy) for scale in (1.0, 64.0, 4096.0))
    for other in others:
        for left, right in zip(plain.rows, other.rows, strict=True):
            assert left | {"scale": 0} == right | {"scale": 0}
        for before, after in zip(plain.tensors, other.tensors, strict=True):
            assert {k: a.tobytes() for k, a in before.items()} == {
                k: a.tobytes() for k, a in after.items()
            }


def test_the_scale_stays_in_its_bounds_and_a_skip_moves_nothing(worker: Worker) -> None:
    bad = (2, 3, 6, 9, 10, 11)
    faults = Faults(
        seed=4,
        windows=((2, 2),) * 20,
        faults=tuple(Fault(number, number % 2, "kernel", float("nan")) for number in bad),
    )
    recipe = make(2, 2, precision=FLOAT16, loss_scaling=MACHINE, ema={"decay": 0.5})
    run = seen(worker, recipe, make_toy(recipe, faults))
    assert [row["window"] for row in run.rows if row["skipped"]] == list(bad)
    scales = [row["scale"] for row in run.rows]
    assert (min(scales), max(scales)) == (16.0, 48.0)
    pairs = list(pairwise(run.tensors))
    for number in bad:
        before, after = pairs[number - 1]
        assert before.keys() == after.keys()
        assert all(after[key].tobytes() == array.tobytes() for key, array in before.items())
    # What moves at all moves in every other window.
    assert all(
        before["parameters/kernel"].tobytes() != after["parameters/kernel"].tobytes()
        for number, (before, after) in enumerate(pairs, start=1)
        if number not in bad
    )


def test_compiling_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\n"
        "from crosscast.emit.compiler import compile_recipe\n"
        "from frameworks.emitted_script import tiny_recipe\n"
        "group = {'parameters': ['*weight', 'bert.*'], 'weight_decay': 0.5}\n"
        "adam = {'name': 'adamw', 'learning_rate': 0.1, 'groups': [group]}\n"
        "recipe = tiny_recipe(optimizer=adam, ema={'decay': 0.5})\n"
        "for form in ('script', 'step'):\n"
        "    for one in compile_recipe(recipe, ['torch', 'tensorflow', 'paddle'], form=form):\n"
        "        for path, file in one.files.items():\n"
        "            print(one.target.name, path, file.text)\n"
    )
    texts = {
        subprocess.run(
            [sys.executable, str(program)],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[1])},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert len(texts) == 1
    assert len(texts.pop()) > 10_000
