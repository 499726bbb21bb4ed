"""Small training programs as text, and the events found in them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest

from crosscast.messages.source import Source
from crosscast_reading.pysource.project import read_program
from crosscast_reading.trainstep.events import TrainingStep
from crosscast_reading.trainstep.steps.search import training_steps

HEAD = """
import argparse
import torch
from contextlib import ExitStack, nullcontext
from torch.cuda.amp import GradScaler, autocast

parser = argparse.ArgumentParser()
parser.add_argument("--accum", type=int, default=4)
parser.add_argument("--fp16", action="store_true")
parser.add_argument("--clip", type=float, default=1.0)
args = parser.parse_args()
model = make_model()
opt = torch.optim.AdamW(model.parameters())
sched = torch.optim.lr_scheduler.StepLR(opt, 10)
scaler = GradScaler()
"""
Find = Callable[..., tuple[TrainingStep, ...]]


def find(*texts: str, head: str = HEAD) -> tuple[TrainingStep, ...]:
    """Return the training steps of a program of one or several files; the head goes first."""
    sources = [
        Source(f"part{place}.py", (head if place == 0 else "") + textwrap.dedent(text))
        for place, text in enumerate(texts)
    ]
    program, problems = read_program(sources)
    assert not problems
    return training_steps(program)


def only_step(*texts: str, head: str = HEAD) -> TrainingStep:
    """Return the only training step of a program."""
    (step,) = find(*texts, head=head)
    return step


@pytest.fixture
def steps() -> Find:
    return find


@pytest.fixture
def loop() -> Callable[..., TrainingStep]:
    return only_step


def kinds_of(step: TrainingStep, *left_out: str) -> list[str]:
    """Return the kinds of the events in order."""
    return [e.kind for e in step.events if e.kind not in left_out]


@pytest.fixture
def kinds() -> Callable[..., list[str]]:
    return kinds_of
