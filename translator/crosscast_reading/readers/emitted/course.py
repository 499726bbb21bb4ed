"""Emitted scripts: batches, schedule, data, model."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosscast_reading.facts.fact import Fact
from crosscast_reading.readers.emitted.script import Script

_MODEL = {
    "VOCAB_SIZE": "vocab_size",
    "HIDDEN_SIZE": "hidden_size",
    "LAYERS": "layers",
    "ATTENTION_HEADS": "attention_heads",
    "INTERMEDIATE_SIZE": "intermediate_size",
    "MAX_POSITIONS": "max_positions",
    "TYPE_VOCAB_SIZE": "type_vocab_size",
    "LABELS": "labels",
    "LAYER_NORM_EPS": "layer_norm_eps",
    "INIT_STD": "init_std",
}
PADDED_SOURCES = ("parquet", "datasets", "custom")
"""Sources whose rows may vary in length: their sections of the recipe are `PaddedData`."""
_REMAINING = {
    "1.0 - progress": "linear",
    "(1.0 - progress) ** POWER": "polynomial",
    "0.5 * (1.0 + math.cos(math.pi * progress))": "cosine",
}


def course(script: Script, backend: str) -> Iterator[Fact]:
    """Yield the facts about seed, batches, schedule, model and data."""
    output = str(script.constants.get("SETTINGS.output", ""))
    run = re.fullmatch(rf"runs/(.+)-{backend}[\w.-]*", output)
    if run:
        yield script.fact("name", run.group(1), "SETTINGS.output", origin="constant")
    yield from script.constant("seed", "SETTINGS.seed")
    yield from script.constant("batch.micro_batch_size", "SETTINGS.micro_batch_size")
    yield from script.constant("accumulation.steps", "SETTINGS.accumulation_steps")
    processes = script.constants.get("PROCESSES", 1)
    parallel = "data_parallel" if "PROCESSES" in script.constants else "none"
    yield script.fact("distributed.strategy", parallel, "PROCESSES")
    yield script.fact("distributed.processes_per_node", processes, "PROCESSES")
    for name, usual in (("shuffle", True), ("workers", 0)):
        value = script.constants.get(f"SETTINGS.{name}", usual)
        yield script.fact(f"data.{name}", value, f"SETTINGS.{name}", "SETTINGS")
    yield from _accumulation(script)
    yield from schedule(script)
    yield from _model(script, backend)
    yield from _data(script)


def _accumulation(script: Script) -> Iterator[Fact]:
    window = script.text("train_window")
    flush = "flush" if "FULL_WINDOW" in script.constants else "flush_renormalized"
    tail = script.constants.get("SETTINGS.tail", flush)
    yield script.fact("accumulation.tail", tail, "SETTINGS.tail", "SETTINGS")
    divisor = re.search(
        r"divisor = (?:np\.array|tf\.constant|paddle\.to_tensor)\((.+), |loss = loss / (.+)"
        r"|'divisor': np\.float32\((.+)\)",
        window,
    )
    text = next(filter(None, divisor.groups()), "") if divisor else ""
    unit = "sample"
    if "tokens" in text:
        unit = "token"
    elif "n_micro" in text:
        unit = "microbatch"
    elif full := script.constants.get("FULL_WINDOW"):
        steps = script.constants.get("SETTINGS.accumulation_steps", 1)
        windows = steps * script.constants.get("PROCESSES", 1)
        summed = "sum" in script.text("micro_batch_loss")  # of one row each, both are as many
        unit = "microbatch" if full == windows and not summed else "sample"
    yield script.fact("accumulation.normalize_by", unit, "train_window")


def schedule(script: Script) -> Iterator[Fact]:
    """Yield the facts of the learning rate: of its function, or of the constant that it is."""
    text = script.text("learning_rate")
    here = "learning_rate" if text else "LEARNING_RATE"
    yield from script.constant("optimizer.learning_rate", "LEARNING_RATE")
    yield from script.constant("schedule.total_steps", "SETTINGS.windows", "WINDOWS")
    yield script.fact("schedule.warmup_steps", script.constants.get("WARMUP_STEPS", 0), here)
    yield from script.constant("schedule.warmup_start_lr", "START_LEARNING_RATE")
    if "math.sqrt" in text:
        yield script.fact("schedule.name", "inverse_sqrt", here)
    elif "progress" not in text:
        yield script.fact("schedule.name", "constant", here)
    else:
        remaining = re.search(r"remaining = (.+)", text)
        name = _REMAINING.get(remaining.group(1) if remaining else "", "")
        if name:
            yield script.fact("schedule.name", name, here)
        start = "position / TOTAL_STEPS" in text
        yield script.fact("schedule.decay_from", "start" if start else "warmup_end", here)
        yield from script.constant("schedule.end_lr", "END_LEARNING_RATE")
        yield from script.constant("schedule.power", "POWER")
    called = re.search(r"(?:learning_rate|rate\.step)\(state\.(\w+)\)", script.all_text())
    if called:
        tick = "update" if called.group(1) == "updates" else "attempt"
        yield script.fact("schedule.tick", tick, "train_window")


def _model(script: Script, backend: str) -> Iterator[Fact]:
    if "HIDDEN_SIZE" in script.constants:
        yield script.fact("model.kind", "bert", "HIDDEN_SIZE")
        for constant, name in _MODEL.items():
            yield from script.constant(f"model.{name}", constant)
        yield script.fact("model.dropout", script.constants.get("DROPOUT", 0.0), "DROPOUT")
        return
    factory = script.imported("build_model")
    if factory.partition(":")[0] not in ("", "model"):
        yield script.fact("model.kind", "custom", "train_window")
        yield script.fact(f"model.factory.{backend}", factory)


def _data(script: Script) -> Iterator[Fact]:
    hint = "SETTINGS.data_hint"
    text = script.constants.get(hint, "")
    options = re.findall(r"--(sequence-length|train-rows|eval-rows) (\d+)", text)
    if not options:
        yield from _rows(script)
        return
    yield script.fact("data.source", "synthetic", hint)
    for option, number in options:
        yield script.fact(f"data.{option.replace('-', '_')}", int(number), hint)


def _rows(script: Script) -> Iterator[Fact]:
    """Yield the facts about rows that the user has."""
    get = script.constants.get
    own = {split: script.imported(f"{split}_rows") for split in ("train", "eval")}
    source = "custom" if all(own.values()) else get("SETTINGS.source", "npz")
    yield script.fact("data.source", source, "SETTINGS.source", "SETTINGS.train", "SETTINGS")
    for split, function in own.items():
        value = function if source == "custom" else get(f"SETTINGS.{split}")
        yield script.fact(f"data.{split}", value, f"SETTINGS.{split}", "SETTINGS")
    if source == "images" and (size := get("SETTINGS.image_size")):
        yield script.fact("data.size", list(size), "SETTINGS.image_size")
    if source in PADDED_SOURCES:
        multiple = get("SETTINGS.pad_to_multiple_of", 1)
        yield script.fact("data.pad_to_multiple_of", multiple, "SETTINGS.pad_to_multiple_of")
        for name, number in get("SETTINGS.pad_values", {}).items():
            yield script.fact(f"data.pad_values.{name}", float(number), "SETTINGS.pad_values")
