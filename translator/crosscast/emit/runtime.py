"""What a script tells its runtime: the call of `Settings`, and the files of the package.

The text of `runtime/` depends on the dialect alone. What a recipe decides reaches it as values.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from crosscast.emit.frame import Frame
from crosscast.emit.lowering import slot_names
from crosscast.emit.render import py_literal
from crosscast.plan import predicates
from crosscast.plan.operations import Ema, LossUnit, Normalize, Plan, Schedule, UpdateScale
from crosscast.recipe.document import (
    BertModel,
    CrossEntropy,
    CustomData,
    ImageData,
    PaddedData,
    SyntheticData,
)
from crosscast.targets.backend import File

SHARED = (
    *("settings", "arguments", "folder", "rows", "arrays", "sources", "formats"),
    *("checkpoint", "run"),
)
"""Modules that are the same file on every framework."""


def runtime_files(modules: Mapping[str, str], spelling: Hashable) -> list[File]:
    """Return the modules of `runtime/`.

    Args:
        modules: Those of the framework, by name, with the folder whose `runtime` has the template.
        spelling: What they print, which depends on the dialect alone; templates see it under this
            name.
    """
    context = {"spelling": spelling}
    templates = {name: f"_shared/runtime/{name}.py.j2" for name in ("__init__", *SHARED)}
    templates |= {name: f"{folder}/runtime/{name}.py.j2" for name, folder in modules.items()}
    return [
        File(path=f"runtime/{name}.py", template=template, view=context)
        for name, template in templates.items()
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """What a backend decides about `Settings`."""

    made_for: str
    """Display name of the versions that the script is for."""
    since: str
    """Lowest version, inclusive; its first two numbers count."""
    until: str = ""
    """First version that is too new; empty for none."""
    output: str
    """Folder of the run."""
    accumulation_steps: str = ""
    """The constant of the script that holds the number; empty for none."""
    betas: str = ""
    """The constant with the betas whose powers a checkpoint holds; empty for none."""
    half: str = ""
    """Half type that the device is asked for; empty for none."""
    recomputed_dropout: bool = False
    """Whether dropout is recomputed in a way that not every device can do."""


def settings_lines(plan: Plan, frame: Frame, run: RunView) -> tuple[str, ...]:
    """Return the arguments of `Settings` as lines; those at their defaults are left out."""
    return tuple(_wrapped(name, code) for name, code in _arguments(plan, frame, run))


def _arguments(plan: Plan, frame: Frame, run: RunView) -> Iterator[tuple[str, str]]:
    windows = plan.get(Schedule).total_steps
    yield "recipe", py_literal(frame.fingerprint)
    yield "made_for", py_literal(run.made_for)
    yield "since", _pair(run.since)
    if run.until:
        yield "until", _pair(run.until)
    rows = row_settings(frame, plan.get(Normalize).unit)
    yield from (_printed(name, rows[name], frame) for name in _OF_SOURCE if name in rows)
    yield "output", py_literal(run.output)
    yield "seed", py_literal(frame.seed)
    yield "micro_batch_size", py_literal(frame.micro_batch_size)
    yield "accumulation_steps", run.accumulation_steps or py_literal(frame.micro_batches)
    if predicates.parallel(plan):
        yield "processes", "PROCESSES"
    yield "windows", py_literal(windows)
    yield "checkpoint_every", py_literal(max(1, min(500, windows // 10)))
    if not frame.data.shuffle:
        yield "shuffle", "False"
    if frame.tail != "step":
        yield "tail", py_literal(frame.tail)
    yield from (_printed(name, rows[name], frame) for name in _OF_ARRAYS if name in rows)
    if slots := slot_names(plan):
        yield "slots", py_literal(slots)
    if run.betas:
        yield "betas", run.betas
    if update := plan.find(UpdateScale):
        yield "scale", _scale(update)
        if update.mode == "dynamic":
            yield "counts", f"({update.growth_interval}, {update.hysteresis})"
    if plan.find(Ema):
        yield "averages", "True"
    if run.half:
        yield "half", py_literal(run.half)
    if frame.tf32:
        yield "tf32", "True"
    if run.recomputed_dropout:
        yield "recomputed_dropout", "True"


def _pair(version: str) -> str:
    major, minor = version.split(".")[:2]
    return f"({int(major)}, {int(minor)})"


_OF_SOURCE = (
    *("train", "eval", "data_hint", "source", "workers"),
    *("pad_to_multiple_of", "pad_values", "image_size"),
)
_OF_ARRAYS = ("limits", "max_positions", "target", "classes", "unlabelled")
_CONSTANTS = {"limits": "LIMITS", "max_positions": "MAX_POSITIONS", "target": "TARGET"}
"""Settings for which a script has constants."""


def row_settings(frame: Frame, unit: LossUnit) -> dict[str, Any]:
    """Return the settings on which reading rows depends; those at their defaults are left out.

    Args:
        frame: Model, data and loss.
        unit: What the loss of a window is divided by.
    """
    settings = _source_settings(frame)
    if isinstance(frame.model, BertModel):
        settings["limits"] = {
            "input_ids": frame.model.vocab_size,
            "attention_mask": 2,
            "token_type_ids": frame.model.type_vocab_size,
            "labels": frame.model.labels,
        }
        settings["max_positions"] = frame.model.max_positions
    if frame.loss.target != "labels":
        settings["target"] = frame.loss.target
    if not isinstance(frame.loss, CrossEntropy):
        settings["classes"] = False
    if unit == "token":
        settings["unlabelled"] = True
    return settings


def _source_settings(frame: Frame) -> dict[str, Any]:
    data = frame.data
    settings: dict[str, Any]
    if isinstance(data, SyntheticData):
        settings = {"train": "data/train.npz", "eval": "data/eval.npz"}
        settings["data_hint"] = synthetic_command(frame, data)
    else:
        settings = {"train": data.train, "eval": data.eval}
        if data.source != "npz":
            settings["source"] = data.source
    if data.workers:
        settings["workers"] = data.workers
    if isinstance(data, PaddedData):
        if data.pad_to_multiple_of > 1:
            settings["pad_to_multiple_of"] = data.pad_to_multiple_of
        if data.pad_values:
            settings["pad_values"] = data.pad_values
    if isinstance(data, ImageData) and data.size:
        settings["image_size"] = data.size
    return settings


def _printed(name: str, value: Any, frame: Frame) -> tuple[str, str]:
    """Return a setting with its value as code."""
    if name in ("train", "eval") and isinstance(frame.data, CustomData):
        return name, f"{name}_rows"
    if name in _CONSTANTS and value is not None:
        return name, _CONSTANTS[name]
    if name == "data_hint":
        return name, "\n".join(map(py_literal, value))
    return name, _pad_values(value) if name == "pad_values" else py_literal(value)


def _pad_values(values: Mapping[str, float]) -> str:
    numbers = {name: int(each) if each.is_integer() else each for name, each in values.items()}
    items = [f"{py_literal(name)}: {py_literal(number)}" for name, number in numbers.items()]
    line = f"{{{', '.join(items)}}}"
    if len(f"    pad_values={line},") <= 88:
        return line
    return "\n".join(("{", *(f"        {item}," for item in items), "    }"))


def synthetic_command(frame: Frame, data: SyntheticData) -> tuple[str, ...]:
    """Return the command that creates the recipe's synthetic data, as lines."""
    vocab = frame.model.vocab_size if isinstance(frame.model, BertModel) else 0
    return (
        "make it with: crosscast data nli-synthetic -o data",
        f" --train-rows {data.train_rows} --eval-rows {data.eval_rows}",
        f" --sequence-length {data.sequence_length} --vocab-size {vocab} --seed {frame.seed}",
    )


def _scale(update: UpdateScale) -> str:
    """Return the least and the largest loss scale, by the constants of the step."""
    if update.mode == "static":
        return "(LOSS_SCALE, LOSS_SCALE)"
    most = "MAX_SCALE" if update.max_scale is not None else 'float("inf")'
    return f"({'MIN_SCALE' if update.min_scale else '0.0'}, {most})"


def _wrapped(name: str, code: str) -> str:
    """Return one argument in the style of a formatter."""
    if "\n" not in code or code.startswith("{"):
        return f"    {name}={code},"
    parts = "".join(f"\n        {part}" for part in code.split("\n"))
    return f"    {name}=({parts}\n    ),"
