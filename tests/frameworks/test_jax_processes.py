"""Emitted JAX scripts in two processes, started by the emitted launch.sh."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from frameworks.two_processes import (
    CLIPPED,
    HALF_SUMS,
    HALF_WEIGHTS,
    LION,
    PARALLEL,
    SCALED,
    SGD,
    Case,
    Lab,
)
from tiers import cases, exhaustive

pytestmark = pytest.mark.jax

TARGET = "jax"
NET = """
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.table = nnx.Embed(128, 6, rngs=rngs)
        self.middle = nnx.Linear(6, 5, rngs=rngs)
        self.normal = nnx.LayerNorm(5, rngs=rngs)
        self.last = nnx.Linear(5, 3, rngs=rngs)

    def __call__(self, input_ids, attention_mask, token_type_ids):
        hidden = nnx.tanh(self.middle(self.table(input_ids).mean(1)))
        return self.last(self.normal(hidden))


build_model = Net
"""
OWN: dict[str, Any] = {"model": {"kind": "custom", "factory": {"jax": "net:build_model"}}}


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path, TARGET, NET)


CASES: dict[str, Case] = {
    "own model": Case(TARGET, OWN | {"optimizer": SGD | {"no_decay": []}, "clipping": CLIPPED}),
    "SGD, clipped": Case(TARGET, {"optimizer": SGD, "clipping": CLIPPED}),
    "AdamW, by tokens, averaged": Case(
        TARGET, {"accumulation": {"normalize_by": "token"}, "ema": {"decay": 0.5}}
    ),
    # In every window the first process has full micro-batches, and the other one has not.
    "unequal shares": Case(TARGET, {"optimizer": SGD}, rows=15),
    # The softmax does not feel the bias of a key: Lion steps by the sign of rounding there.
    "Lion": Case(TARGET, {"optimizer": LION}, free="attention.self.key.bias"),
    "float16": Case(TARGET, SCALED, rel=5e-4, atol=5e-5),
    "half weights": Case(TARGET, SCALED | HALF_WEIGHTS, rel=5e-4, atol=5e-5),
    "half sums": Case(TARGET, SCALED | HALF_SUMS, rel=5e-4, atol=5e-5),
}


@pytest.mark.parametrize(
    "name",
    cases(CASES, quick=["own model"], reason="BERT, optimizers and types over two processes"),
)
def test_two_processes_train_as_one(lab: Lab, name: str) -> None:
    lab.train_as_one(CASES[name])


@exhaustive("three runs of two processes")
def test_two_processes_skip_and_resume_together(lab: Lab) -> None:
    lab.skip_and_resume()


@exhaustive("a process evaluates for 20 seconds longer than the other")
def test_the_first_process_waits_for_the_last_one(lab: Lab) -> None:
    script = lab.script("run", **PARALLEL)
    text, summed = script.read_text(), "    for batch in batches:\n        n_rows"
    assert text.count(summed) == 1
    late = "    if jax.process_index():\n        __import__('time').sleep(20.0)\n"
    script.write_text(text.replace(summed, late + summed))
    run = lab.launch(script, "out", "--windows", 1)
    assert run.code == 0, run.stderr


@exhaustive("waits 40 seconds for a process")
def test_a_process_may_be_late_for_the_first_window(lab: Lab) -> None:
    script = lab.script("run", **PARALLEL)
    text, built = script.read_text(), "    state = make_state(run)\n"
    assert text.count(built) == 1
    late = "    if run.rank:\n        __import__('time').sleep(40.0)\n"
    script.write_text(text.replace(built, built + late))
    run = lab.launch(script, "out", "--windows", 1)
    assert run.code == 0, run.stderr
    assert run.status["windows"] == 1


@exhaustive("what wrong starts of two processes say")
@pytest.mark.parametrize("variables", [{}, {"WORLD_SIZE": "3", "RANK": "1"}])
def test_a_script_for_two_processes_wants_two(lab: Lab, variables: dict[str, str]) -> None:
    script = lab.script("run", **PARALLEL)
    output = script.parent / "out"
    command = (sys.executable, script, *lab.flags, "--output", output)
    run = lab.end(lab.start(*command, **variables), output)
    assert run.code == 2, run.stderr
    if not variables:
        assert "made for 2 processes: start launch.sh" in run.stderr
        assert run.status["exit_code"] == 2


@exhaustive("what wrong data of two processes says")
def test_wrong_data_ends_all_processes(lab: Lab) -> None:
    run = lab.launch(lab.script("run", **PARALLEL), "out", "--train", lab.folder / "none 1.npz")
    assert run.code == 2, run.stderr
    assert run.stderr.count("failed: cannot read") == 1
    assert "Traceback" not in run.stderr
    assert "none 1.npz" in run.status["message"]
