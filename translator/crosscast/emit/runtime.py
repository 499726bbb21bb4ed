"""What a script tells its runtime: the call of `Settings`, and the files of the package.

The text of `runtime/` depends on the dialect alone. What a recipe decides reaches it as values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from crosscast.emit.frame import Frame
from crosscast.emit.lowering import slot_names
from crosscast.emit.render import py_literal
from crosscast.plan import predicates
from crosscast.plan.operations import Ema, Normalize, Plan, Schedule, UpdateScale
from crosscast.recipe.document import (
    BertModel,
    CrossEntropy,
    CustomData,
    ImageData,
    PaddedData,
    SyntheticData,
)
from crosscast.targets.backend import File

SHARED = ("settings", "arguments", "rows", "arrays", "sources", "formats", "checkpoint", "run")
"""Modules that are the same file on every framework."""


def runtime_files(modules: Mapping[str, str], spelling: object) -> list[File]:
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
    yield from _data(frame)
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
    if isinstance(frame.model, BertModel):
        yield "limits", "LIMITS"
        yield "max_positions", "MAX_POSITIONS"
    if frame.loss.target != "labels":
        yield "target", "TARGET" if frame.loss.target else "None"
    if not isinstance(frame.loss, CrossEntropy):
        yield "classes", "False"
    if plan.get(Normalize).unit == "token":
        yield "unlabelled", "True"
    if slots := slot_names(plan):
        yield "slots", py_literal(slots)
    if run.betas:
        yield "betas", run.betas
    if update := plan.find(UpdateScale):
        yield "scale", _scale(update)
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


def _data(frame: Frame) -> Iterator[tuple[str, str]]:
    data = frame.data
    if isinstance(data, SyntheticData):
        yield "train", py_literal("data/train.npz")
        yield "eval", py_literal("data/eval.npz")
        yield "data_hint", "\n".join(map(py_literal, synthetic_command(frame, data)))
    elif isinstance(data, CustomData):
        yield "train", "train_rows"
        yield "eval", "eval_rows"
    else:
        yield "train", py_literal(data.train)
        yield "eval", py_literal(data.eval)
    if data.source not in ("synthetic", "npz", "custom"):
        yield "source", py_literal(data.source)
    if data.workers:
        yield "workers", py_literal(data.workers)
    if isinstance(data, PaddedData) and data.pad_to_multiple_of > 1:
        yield "pad_to_multiple_of", py_literal(data.pad_to_multiple_of)
    if isinstance(data, PaddedData) and data.pad_values:
        yield "pad_values", _pad_values(data.pad_values)
    if isinstance(data, ImageData) and data.size:
        yield "image_size", py_literal(data.size)


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
