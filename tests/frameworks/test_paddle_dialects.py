"""Emitted Paddle scripts in the older versions that variables like CROSSCAST_PADDLE_2_6 name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frameworks.emitted_script import BFLOAT16, TINY
from frameworks.paddle_lab import SCALED, Lab, finished, same
from frameworks.subprocesses import older, paddle_2

pytestmark = pytest.mark.paddle

EACH = pytest.mark.parametrize("target", older("paddle") or paddle_2())
FAULTS = ("1:0=inf", "3:1=nan", "4:0=inf")


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


@EACH
def test_a_run_in_float32_and_its_resumption(lab: Lab, target: str) -> None:
    model: dict[str, Any] = {"model": TINY["model"] | {"dropout": 0.1}}
    script = lab.script("run", target, **model)
    whole, *_, last = lab.ended(
        script,
        ("whole", "--windows", 8),
        ("parts", "--windows", 5),
        ("parts", "--windows", 8, "--resume"),
        framework=target,
    )
    same(whole, last)
    assert whole.status["versions"]["paddle"].startswith(target.partition("@")[2])


@EACH
def test_the_loss_scale_is_that_of_the_newest_version(lab: Lab, target: str) -> None:
    runs = {}
    for program in ("paddle", target):
        script = lab.script(program, program, **SCALED)
        order = ("out", "--windows", 12)
        runs[program] = finished(lab.with_scaler(script, order, faults=FAULTS, framework=program))[
            0
        ]
    for key in ("scale", "skipped", "updates", "lr"):
        newest, old = ([row[key] for row in run.trace] for run in runs.values())
        assert newest == old, key
    assert [row["window"] for row in runs[target].trace if row["skipped"]] == [1, 3, 4]


@EACH
@pytest.mark.parametrize("sections", [SCALED, {"precision": BFLOAT16}], ids=["fp16", "bf16"])
def test_without_a_gpu_half_is_refused_and_float32_is_not(
    lab: Lab, target: str, sections: dict[str, Any]
) -> None:
    flag = "--use_bf16=false" if sections is not SCALED else "--use_fp16=false"
    script = lab.script("run", target, **sections)
    refused, run = lab.main(
        script, ("no", "--windows", 1), ("yes", "--windows", 3, flag), framework=target
    )
    assert (refused.code, refused.status["status"]) == (3, "cannot_run")
    assert [(row["scale"], row["skipped"]) for row in run.trace] == [(1.0, False)] * 3


@EACH
def test_dropout_is_not_recomputed_on_a_cpu(lab: Lab, target: str) -> None:
    recomputed: dict[str, Any] = {"activation_checkpointing": True}
    dropout: dict[str, Any] = {"model": TINY["model"] | {"dropout": 0.1}}
    (run,) = lab.main(
        lab.script("run", target, **recomputed, **dropout), ("out",), framework=target
    )
    assert (run.code, run.traceback, run.status["status"]) == (3, "", "cannot_run")
    assert "recomputes dropout on GPUs only" in run.status["message"]
    script = lab.script("without", target, **recomputed)
    lab.ended(script, ("out", "--windows", 2), framework=target)
