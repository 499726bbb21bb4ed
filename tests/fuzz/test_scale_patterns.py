"""Every pattern of overflows up to eight attempts (seven in `make test`), through the scalers.

For short intervals and small hysteresis of both kinds, with and without bounds, static too. PyTorch
and Paddle run all of them through `train_window`, because what a step asks their GradScaler is part
of the machine; so does JAX, whose compiled step says whether it was skipped. The steps for
TensorFlow hold the whole machine in their class LossScale: all patterns run through that, and those
of some settings also through `train_window`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crosscast.emit.compiler import compile_recipe
from crosscast.plan import loss_scale
from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import UpdateScale
from crosscast.recipe.document import Recipe
from crosscast_parity.toy.worker import Worker
from frameworks.emitted_script import FLOAT16, tiny_recipe
from frameworks.subprocesses import require
from fuzz.link import make_worker
from fuzz.walk import walk
from tiers import cases, exhaustive

LENGTH, QUICK_LENGTH = 8, 7
FREE = {"min_scale": 2.0**-14}
BOUNDED = {"min_scale": 3.0, "max_scale": 7.0}


def dynamic(interval: int, hysteresis: int, kind: str, bounds: dict[str, Any]) -> dict[str, Any]:
    machine = {"mode": "dynamic", "init_scale": 4.0, "growth_interval": interval}
    return machine | {"hysteresis": hysteresis, "hysteresis_mode": kind} | bounds


KINDS = ("consecutive", "cumulative")
DYNAMIC = [
    *itertools.starmap(dynamic, itertools.product((1, 2, 3), (1, 2, 3), KINDS, (FREE, BOUNDED))),
    dynamic(1, 1, "consecutive", {"min_scale": 2.0}),
    dynamic(2, 2, "cumulative", FREE | {"max_scale": 8.0}),
    dynamic(1, 1, "consecutive", {"min_scale": None}),
    dynamic(2, 1, "consecutive", {"min_scale": None, "max_scale": 8.0}),
]
STATIC = {"mode": "static", "scale": 4.0}
COVERING = [DYNAMIC[index] for index in (0, 11, 22, 35)]
SECTIONS = {"covering": [*COVERING, *DYNAMIC[36:], STATIC], "all": [*DYNAMIC, STATIC]}
"""Settings of a scale whose patterns run through whole windows."""


def make(scaling_section: dict[str, Any]) -> Recipe:
    return tiny_recipe(
        precision=FLOAT16,
        loss_scaling=scaling_section,
        batch={"micro_batch_size": 1, "global_batch_size": 1},
        optimizer={"name": "sgd", "learning_rate": 0.5},
        schedule={"name": "constant", "total_steps": 10},
    )


def expected(recipe: Recipe, length: int) -> list[tuple[float, bool, int, int]]:
    op = canonical_plan(recipe).find(UpdateScale)
    assert op is not None
    held = [loss_scale.initial(op)]
    seen = []

    def visit(overflow: bool) -> None:
        before = held[0].scale
        held[0] = loss_scale.adjust(op, held[0], not overflow)
        seen.append((before, overflow, held[0].good, held[0].bad))

    def restore(saved: loss_scale.ScaleState) -> None:
        held[0] = saved

    walk(length, visit, lambda: held[0], restore)
    return seen


def differing(
    worker: Worker,
    section: dict[str, Any],
    folder: Path,
    action: str = "patterns",
    length: int = LENGTH,
) -> list[tuple[Any, ...]]:
    recipe = make(section)
    (compiled,) = compile_recipe(recipe, [worker.framework], form="step")
    (folder / "step.py").write_text(compiled.files["step.py"].text)
    answer = worker.ask({"action": action, "folder": str(folder), "length": length})
    assert "seen" in answer, answer
    wanted = expected(recipe, length)
    assert len(answer["seen"]) == len(wanted) == 2 ** (length + 1) - 2
    counts = section["mode"] == "dynamic"
    return [
        (number, found, right)
        for number, (found, right) in enumerate(zip(answer["seen"], wanted, strict=True))
        if found[:2] != list(right[:2])
        or (counts and any(f not in (None, r) for f, r in zip(found[2:], right[2:], strict=True)))
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "case").mkdir()
    return tmp_path / "case"


@pytest.fixture(scope="module")
def worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    require(request.param)
    worker = make_worker(request.param)
    yield worker
    worker.stop()


WINDOWS = cases(
    [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("torch", "paddle", "jax")],
    quick=["torch"],
    reason="whole windows of Paddle and JAX",
)


@pytest.mark.parametrize("worker", WINDOWS, indirect=True)
@pytest.mark.parametrize(
    "sections", cases(SECTIONS, quick=["covering"], reason="whole windows of all settings")
)
def test_windows_follow_the_machine(worker: Worker, folder: Path, sections: str) -> None:
    length = QUICK_LENGTH if sections == "covering" else LENGTH
    for section in SECTIONS[sections]:
        assert differing(worker, section, folder, length=length)[:3] == [], section


@exhaustive("every pattern of overflows in Keras")
@pytest.mark.tensorflow
def test_keras_follows_the_machine(folder: Path) -> None:
    require("tensorflow")
    worker = make_worker("tensorflow", eager=True)
    try:
        for section in DYNAMIC:
            assert differing(worker, section, folder, "machine_patterns")[:3] == [], section
        for section in (*COVERING, STATIC):
            assert differing(worker, section, folder)[:3] == [], section
    finally:
        worker.stop()
