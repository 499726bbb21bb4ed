"""Layers load what is emitted for them with code of their own, and understand what was meant."""

from __future__ import annotations

import importlib.util
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast.emit.compiler import compile_recipe
from crosscast.plan import operations as ops
from crosscast.plan.canonical import canonical_plan
from crosscast.plan.schedule import learning_rate
from frameworks.subprocesses import require, run_python
from recipe_texts import FLOAT16, recipe_of
from tiers import cases, exhaustive

PROGRAM = Path(__file__).with_name("read_configuration.py")
SIX_ROWS = "{source: synthetic, train_rows: 6, shuffle: false}"
SGD = "{name: sgd, learning_rate: 1.0}"
EVERY = {
    "data": SIX_ROWS,
    "batch": "{micro_batch_size: 2}",
    "optimizer": SGD,
    "schedule": "{name: constant, total_steps: 4}",
}
"""Three micro-batches an epoch, two a window: means 1.5, 3.5 and 5.5."""


def emitted(tmp_path: Path, target: str, **changes: str | None) -> Path:
    (compiled,) = compile_recipe(recipe_of(**changes), [target])
    folder = tmp_path / target
    folder.mkdir()
    for path, file in compiled.files.items():
        (folder / path).write_text(file.text, encoding="utf-8")
    return folder


def read(tmp_path: Path, layer: str, *variants: dict[str, str], **changes: str) -> list[Any]:
    """Return what a layer understood, for every variant of the recipe in one process."""
    require({"fabric": "lightning"}.get(layer, layer))
    folders = []
    for number, variant in enumerate(variants or ({},)):
        folder = tmp_path / str(number)
        folder.mkdir()
        folders.append(emitted(folder, layer, **changes | variant))
    found: list[Any] = run_python(PROGRAM, "torch", layer, *folders)
    return found


def optional(package: str) -> None:
    """Skip the test where a layer is missing that does not install with the others."""
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")


@pytest.mark.torch
@pytest.mark.parametrize(
    ("tail", "weight"),
    cases(
        [("flush", -10.5), ("carry", -13.0)],
        quick=[("carry", -13.0)],
        reason="more probes of the layers' own parsers",
    ),
)
def test_accelerate_reads_its_configuration(tmp_path: Path, tail: str, weight: float) -> None:
    (found,) = read(tmp_path, "accelerate", accumulation=f"{{steps: 2, tail: {tail}}}", **EVERY)
    # Windows (1.5, 3.5), (5.5) or (5.5, 1.5), (3.5, 5.5), each divided by two.
    assert found == {
        "yaml": ["no", 1],
        "steps": 2,
        "syncs": tail == "flush",
        "scaler": None,
        "weight": weight,
    }


@exhaustive("more probes of the layers' own parsers")
@pytest.mark.torch
def test_accelerate_is_told_of_the_loss_scale(tmp_path: Path) -> None:
    scaling = "{mode: dynamic, init_scale: 1024.0, growth_factor: 4.0, growth_interval: 7}"
    (found,) = read(tmp_path, "accelerate", precision=FLOAT16, loss_scaling=scaling, **EVERY)
    assert found["yaml"] == ["fp16", 1]
    assert found["scaler"] == {
        "init_scale": 1024.0,
        "growth_factor": 4.0,
        "backoff_factor": 0.5,
        "growth_interval": 7,
    }


FABRIC = [
    ("{steps: 2, tail: flush}", -(2.5 + 2.75) * 2),
    ("{steps: 2, tail: flush_renormalized}", -(2.5 + 5.5) * 2),
    ("{steps: 2, tail: drop}", -2.5 * 4),
    ("{steps: 2, tail: carry}", -(2.5 + 3.5 + 4.5 + 2.5)),
]


@exhaustive("more probes of the layers' own parsers")
@pytest.mark.torch
def test_fabric_trains(tmp_path: Path) -> None:
    found = read(tmp_path, "fabric", *({"accumulation": entry} for entry, _ in FABRIC), **EVERY)
    assert [entry["weight"] for entry in found] == pytest.approx([weight for _, weight in FABRIC])


@exhaustive("more probes of the layers' own parsers")
@pytest.mark.torch
def test_fabric_has_the_precision(tmp_path: Path) -> None:
    (found,) = read(tmp_path, "fabric", precision=FLOAT16)
    assert found["precision"] == "16-mixed"


@pytest.mark.torch
def test_lightning_makes_its_trainer(tmp_path: Path) -> None:
    clipping = "{kind: value, max_value: 100.0}"
    accumulation = "{steps: 2, tail: flush}"
    (found,) = read(tmp_path, "lightning", clipping=clipping, accumulation=accumulation, **EVERY)
    assert found == {
        "precision": "32-true",
        "steps": 2,
        "clip": [100.0, "GradClipAlgorithmType.VALUE"],
        "max_steps": 4,
        "weight": pytest.approx(-10.5),
    }


@exhaustive("more probes of the layers' own parsers")
@pytest.mark.torch
def test_lightning_takes_the_loss_scale(tmp_path: Path) -> None:
    scaling = "{mode: dynamic, init_scale: 1024.0}"
    (found,) = read(tmp_path, "lightning", precision=FLOAT16, loss_scaling=scaling)
    assert found["precision"] == "16-mixed"


SCHEDULES = [
    "{name: constant, total_steps: 9}",
    "{name: constant, total_steps: 9, warmup_steps: 3}",
    "{name: linear, total_steps: 9, warmup_steps: 3}",
    "{name: linear, total_steps: 9, end_lr: 1.0e-4}",
    "{name: cosine, total_steps: 9, warmup_steps: 2}",
    "{name: cosine, total_steps: 9, warmup_steps: 2, end_lr: 1.0e-4}",
    "{name: polynomial, total_steps: 9, warmup_steps: 2, power: 2.0, end_lr: 1.0e-4}",
    "{name: inverse_sqrt, total_steps: 9, warmup_steps: 2}",
]


def wanted(schedule: str, count: int) -> list[float]:
    """Return the rates that the recipe means."""
    op = canonical_plan(recipe_of(schedule=schedule)).find(ops.Schedule)
    assert op is not None
    return [learning_rate(op, position) for position in range(count)]


@exhaustive("more probes of the layers' own parsers")
@pytest.mark.torch
def test_transformers_has_the_schedules(tmp_path: Path) -> None:
    found = read(tmp_path, "transformers", *({"schedule": schedule} for schedule in SCHEDULES))
    for schedule, entry in zip(SCHEDULES, found, strict=True):
        assert entry["rates"] == pytest.approx(wanted(schedule, 9)), schedule


@pytest.mark.torch
def test_transformers_reads_its_arguments(tmp_path: Path) -> None:
    (found,) = read(tmp_path, "transformers", precision=FLOAT16)
    assert found["same"]
    expected = {
        "per_device_train_batch_size": "4",
        "gradient_accumulation_steps": "2",
        "learning_rate": "0.001",
        "weight_decay": "0.01",
        "max_grad_norm": "0.0",
        "fp16": "True",
    }
    assert expected.items() <= found["given"].items()


@exhaustive("more probes of the layers' own parsers")
@pytest.mark.torch
def test_transformers_reports_to_the_trackers(tmp_path: Path) -> None:
    (found,) = read(tmp_path, "transformers", tracking="{wandb: true, tensorboard: true}")
    assert found["same"]
    assert found["given"]["report_to"] == "['tensorboard', 'wandb']"
    assert found["given"]["logging_steps"] == "1"


@exhaustive("more probes of the layers' own parsers")
@pytest.mark.torch
def test_transformers_smooths_labels_as_a_recipe_does(tmp_path: Path) -> None:
    logits = np.array([[1.0, 2, 3], [3, 1, 0], [4, 4, 4]])
    labels = np.array([0, 2, 1])  # without the ignored one
    spread = np.log(np.exp(logits).sum(1, keepdims=True)) - logits
    plain = spread[np.arange(3), labels]
    smooth = 0.75 * plain + 0.25 * spread.mean(1)
    weights = np.array([0.5, 1.0, 2.0])[labels]
    smoothed, counted, weighted, own = read(
        tmp_path,
        "transformers",
        {"loss": "{label_smoothing: 0.25}", "accumulation": "{normalize_by: microbatch}"},
        {"loss": "{label_smoothing: 0.25}"},
        {"loss": "{class_weights: [0.5, 1, 2]}"},
        {"accumulation": "{normalize_by: microbatch}"},
    )
    assert smoothed["loss"] == pytest.approx(smooth.mean(), rel=1e-6)
    assert counted["loss"] == pytest.approx(smooth.mean(), rel=1e-6)
    assert weighted["loss"] == pytest.approx((weights * plain).mean(), rel=1e-6)
    assert own["loss"] is None


@pytest.mark.torch
def test_deepspeed_reads_its_configuration(tmp_path: Path) -> None:
    optional("deepspeed")
    schedule = "{name: linear, total_steps: 9, warmup_steps: 3}"
    scaling = "{mode: dynamic, init_scale: 1024.0, growth_interval: 3, hysteresis: 2, min_scale: 2}"
    (found,) = read(
        tmp_path,
        "deepspeed",
        schedule=schedule,
        precision=FLOAT16,
        loss_scaling=scaling.replace("min_scale: 2", "min_scale: 2.0"),
        clipping="{kind: global_norm, max_norm: 0.5}",
    )
    assert found["batch"] == [8, 4, 2]
    assert found["clipping"] == 0.5
    assert found["half"] == [True, False, "fp32"]
    assert found["optimizer"][0] == "adamw"
    assert found["optimizer"][1]["weight_decay"] == 0.01
    # One step later than the recipe; the scale grows with the fourth clean step, then every third.
    assert found["rates"] == pytest.approx([0.0, *wanted(schedule, 7)])
    grown = list(itertools.chain([1024] * 3, [2048] * 3, [4096] * 2))
    assert found["scales"] == [*grown, 4096, 2048, 1024]


@pytest.mark.torch
@pytest.mark.parametrize(
    ("schedule", "late"),
    [
        ("{name: constant, total_steps: 9, warmup_steps: 3}", True),
        ("{name: constant, total_steps: 9, warmup_steps: 3, warmup_start_lr: 1.0e-4}", True),
        ("{name: cosine, total_steps: 9, warmup_steps: 3, warmup_start_lr: 1.0e-4}", False),
        ("{name: cosine, total_steps: 9, warmup_steps: 3, end_lr: 1.0e-4}", False),
    ],
)
def test_deepspeed_warms_up_one_step_later(tmp_path: Path, schedule: str, late: bool) -> None:
    optional("deepspeed")
    (found,) = read(tmp_path, "deepspeed", schedule=schedule)
    rates = wanted(schedule, 8)
    assert found["rates"][0] in (0.0, rates[0])  # versions differ in the rate before the first step
    assert found["rates"][1:4] == pytest.approx(rates[:3])
    assert found["rates"][4:] == pytest.approx(rates[3:7] if late else rates[4:])


@pytest.mark.paddle
def test_paddlenlp_reads_its_arguments(tmp_path: Path) -> None:
    optional("paddlenlp")
    (found,) = read(tmp_path, "paddlenlp", precision=FLOAT16)
    assert found["given"]["fp16"] == "True"
    given = json.loads((tmp_path / "0" / "paddlenlp" / "arguments.json").read_text())
    assert found["given"].keys() == given.keys()
