"""Scripts that crosscast emits for Accelerate, Lightning and Fabric, as fields of a recipe."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosscast_reading.facts.fact import Fact
from crosscast_reading.readers.emitted.course import schedule
from crosscast_reading.readers.emitted.optimizer import optimizer
from crosscast_reading.readers.emitted.script import Script


def configuration(script: Script) -> Iterator[Fact]:
    """Yield the facts that only recipes have fields for; the readers of layers yield the rest."""
    yield from script.constant("seed", "SEED")
    yield from script.constant("batch.micro_batch_size", "MICRO_BATCH_SIZE")
    yield from script.constant("accumulation.steps", "ACCUMULATION_STEPS")
    if "PROCESSES" in script.constants:
        yield script.fact("distributed.strategy", "data_parallel", "PROCESSES")
        yield from script.constant("distributed.processes_per_node", "PROCESSES")
    yield script.fact("data.shuffle", "shuffle=True" in script.text("make_loader"), "make_loader")
    text = script.all_text()
    yield script.fact("precision.tf32", "matmul_precision('high')" in text)
    yield from schedule(script)
    yield from optimizer(script)
    yield from _window(script)


def _window(script: Script) -> Iterator[Fact]:
    """Yield how short windows end, what divides the losses, and what advances the schedule."""
    trained = script.text("train", "train_window")
    if "make_accelerator" in script.functions:
        if script.constants["ACCUMULATION_STEPS"] > 1:
            carries = "sync_with_dataloader=False" in script.text("make_accelerator")
            tail = "carry" if carries else "flush"
            yield script.fact("accumulation.tail", tail, "make_accelerator")
        waits = "optimizer_step_was_skipped" in trained
    elif "windows" in script.functions:
        yield from _own_windows(script, trained)
        waits = "if scaler.get_scale() >= scale" in trained
    else:
        waits = False  # Lightning always advances it
    yield script.fact("schedule.tick", "update" if waits else "attempt", "train", "train_window")


def _own_windows(script: Script, trained: str) -> Iterator[Fact]:
    cut = script.text("windows")
    steps = script.constants["ACCUMULATION_STEPS"]
    full = script.constants.get("FULL_WINDOW")
    if re.search(r"if window:\n\s+yield window", cut):
        tail = "flush" if full else "flush_renormalized"
    else:
        tail = "drop" if cut.rstrip().count("window = []") > 1 else "carry"
    yield script.fact("accumulation.tail", tail, "windows")
    unit = "microbatch"
    if "-100" in trained:
        unit = "token"
    elif "count = sum(" in trained or full not in (None, steps):
        unit = "sample"
    yield script.fact("accumulation.normalize_by", unit, "train_window")
