"""Warm-ups that are longer than the run (CL522)."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources

LAUNCH = """\
python train.py --model_name_or_path gpt2 --do_train --per_device_train_batch_size 8 \\
    --learning_rate 3e-4 {flags}
"""
SETTINGS = """\
per_device_train_batch_size = 4
save_steps = 500
lr_scheduler_type = "linear"
learning_rate = 2e-4
recompute = True
{lines}
"""


def found(*sources: Source) -> bool:
    return "CL522" in {result.code for result in lint_sources(sources)}


@pytest.mark.parametrize(
    ("flags", "long"),
    [
        ("--max_steps 1000 --warmup_steps 2000", True),
        ("--max_steps 2000 --warmup_steps 2000", False),
        ("--max_steps 50 --warmup_steps 2000", False),
        ("--max_steps 1000 --warmup_ratio 0.1", False),
        ("--max_steps 1000 --warmup_steps $WARM", False),
        ("--max_steps -1 --num_train_epochs 3 --warmup_steps 2000", False),
        ("--num_train_epochs 3 --warmup_steps 2000", False),
    ],
)
def test_launches(flags: str, long: bool) -> None:
    assert found(Source("run.sh", LAUNCH.format(flags=flags))) is long


@pytest.mark.parametrize(
    ("lines", "long"),
    [
        ("max_steps = 100\nwarmup_steps = 2000", True),
        ("max_steps = 10000\nwarmup_steps = 2000", False),
        ("warmup_steps = 2000", False),
    ],
)
def test_settings(lines: str, long: bool) -> None:
    assert found(Source("settings.py", SETTINGS.format(lines=lines))) is long


def test_two_runs() -> None:
    flags = ("--max_steps 1000 --warmup_steps 2000", "--max_steps 10000 --warmup_steps 2000")
    text = "".join(LAUNCH.format(flags=each) for each in flags)
    assert not found(Source("run.sh", text))
    runs = ("--max_steps 1000", "--num_train_epochs 3 --warmup_steps 2000")
    text = "".join(LAUNCH.format(flags=each) for each in runs)
    assert not found(Source("run.sh", text))
    other = LAUNCH.format(flags="--num_train_epochs 3")
    both = LAUNCH.format(flags="--max_steps 1000 --warmup_steps 2000")
    assert found(Source("run.sh", other + both))
