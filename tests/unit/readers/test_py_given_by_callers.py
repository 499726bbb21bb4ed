"""What functions train with, but receive from callers that were not given."""

from __future__ import annotations

import pytest

from crosscast_reading.readers.python.accumulation import READER as LOOP
from crosscast_torch.reading.amp import READER as AMP
from crosscast_torch.reading.parallel import READER as PARALLEL
from crosscast_torch.reading.schedules import READER as SCHEDULES
from crosscast_trainers.reading.accelerate import READER as ACCELERATE
from torch_programs import read_by

ACCELERATED = """
from accelerate import Accelerator

def train(model, loader, optimizer, accelerator: Accelerator):
    for inputs, targets in loader:
        with accelerator.accumulate(model):
            loss = criterion(model(inputs), targets)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
"""


def test_an_accelerator() -> None:
    found = read_by(ACCELERATE, ACCELERATED)
    assert found["api"] == ("accelerate",)
    assert found["parallel.kind"] == ("library",)
    assert found["precision.enabled"] == "caller"
    assert found["loss_scaling.mode"] == "library"
    other = ACCELERATED.replace("from accelerate", "from devices")
    assert read_by(ACCELERATE, other) == {}


def test_clips_of_an_accelerator() -> None:
    assert read_by(LOOP, ACCELERATED)["clipping.per"] == "micro"
    tested = ACCELERATED.replace(
        "            accelerator.clip",
        "            if accelerator.sync_gradients:\n                accelerator.clip",
    )
    assert read_by(LOOP, tested)["clipping.per"] == "step"
    alone = ACCELERATED.replace("accelerator: Accelerator", "").replace(
        "    for inputs", "    accelerator = Accelerator()\n    for inputs"
    )
    assert read_by(LOOP, alone)["clipping.per"] == "step"


BATCH = """
import torch

def train_batch(model, rows, optimizer, scheduler, scaler):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(rows).mean()
    if torch.isnan(loss):
        optimizer.zero_grad()
        return
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    scheduler.step()
"""


def test_a_schedule_and_a_scaler_of_a_single_step() -> None:
    assert read_by(SCHEDULES, BATCH)["schedule.name"] == "caller"
    assert read_by(AMP, BATCH)["loss_scaling.mode"] == "caller"
    moved = BATCH.replace("scheduler.step()", "meter.step()")
    assert "schedule.name" not in read_by(SCHEDULES, moved)


def test_a_round_that_is_given_up_does_not_tell_where_gradients_are_cleared() -> None:
    assert read_by(LOOP, BATCH)["zero_grad.where"] == "after_step"


TRAINED = """
def train(model, loader, optimizer):
    for inputs, targets in loader:
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        {}
"""


@pytest.mark.parametrize(
    "sign",
    [
        "save(getattr(model, 'module', model))",
        "save(model.module)",
        "show(loss) if utils.is_main_process() else None",
        "show(loss) if args.distributed else None",
    ],
)
def test_a_model_that_may_be_one_of_several_copies(sign: str) -> None:
    assert read_by(PARALLEL, TRAINED.format(sign))["parallel.kind"] == ("caller",)


@pytest.mark.parametrize(
    "text",
    [
        TRAINED.format("save(model)"),
        TRAINED.format("save(loader.module)"),
        TRAINED.format("save(getattr(model, 'head', model))"),
        TRAINED.format("save(model.module)").replace("def train(model, ", "def train("),
    ],
)
def test_a_model_of_one_process(text: str) -> None:
    assert "parallel.kind" not in read_by(PARALLEL, text)
