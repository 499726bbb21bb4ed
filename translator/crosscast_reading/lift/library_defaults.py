"""The tables of library defaults, and what the library that runs a training loop decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from crosscast.targets.defaults import Defaults, find_defaults
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.readers.python.manual_steps import steps_by_hand

_FORMS = {
    "tensorflow.keras.mixed_precision.LossScaleOptimizer": "built",
    "tf_keras.mixed_precision.LossScaleOptimizer": "built",
    "paddle.static.amp.decorate": "COMMON",
    "paddle.distributed.fleet.DistributedStrategy.amp_configs": "keys",
}
_DISTRIBUTIONS = {"paddle": "paddlepaddle", "tf_keras": "tf-keras"}
"""Packages whose distribution has another name."""
TRAINERS = {
    "accelerate": "accelerate.Accelerator",
    "lightning": "lightning.pytorch.Trainer",
    "hf_trainer": "transformers.TrainingArguments",
    "deepspeed": "deepspeed.initialize",
}
"""Interfaces that run the whole training step, and the API whose defaults hold then."""
_OTHERS = {
    "megatron": "Megatron-LM",
    "gpt_neox": "GPT-NeoX",
    "nemo": "NeMo",
    "axolotl": "axolotl",
    "mmengine": "mmengine",
    "mmcv1": "mmcv",
    "llama_factory": "LLaMA-Factory",
    "torchtune": "torchtune",
    "composer": "composer",
    "paddle_cli_flags": "the scripts of ERNIE",
    "apex_amp": "apex",
}
"""Interfaces whose readers state defaults, without a table of the library's versions."""
_HOOKS = frozenset(
    {
        *("configure_gradient_clipping", "on_before_optimizer_step", "on_after_backward"),
        *("optimizer_step", "training_step_end", "on_train_batch_end"),
    }
)
"""Methods with which a program changes the step of its library."""
_WINDOW = ("gradient_accumulation_steps", "accumulate_grad_batches")
_CLIP = ("gradient_clip_val", "gradient_clipping")


@dataclass(frozen=True, slots=True)
class Found:
    """Whose defaults hold: `default of torch 2.13.0`."""

    label: str = ""
    certain: bool = False
    """Whether the sources name the version, or all versions have the same."""


@dataclass(frozen=True, slots=True)
class Library(Found):
    """The library that runs the training loop, with what it does without settings."""

    values: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the recipe that it sets to nothing."""


@cache
def tables() -> tuple[Defaults, ...]:
    """Return the tables of all backends and of the libraries."""
    from crosscast.targets.backend import backend_names, load_backend
    from crosscast.targets.library_defaults import LIBRARY_DEFAULTS

    return (
        *(row for name in backend_names() for row in load_backend(name).defaults),
        *LIBRARY_DEFAULTS,
    )


def find(api: str, versions: Mapping[str, str]) -> tuple[Defaults, Found] | None:
    """Return the defaults of an API and whose they are.

    Args:
        api: name, with the form of an overload in brackets where it is not the usual one.
        versions: package to version.
    """
    api, _, form = api.removesuffix(")").partition(" (")
    form = form or _FORMS.get(api, "")
    rows = [row for row in tables() if (row.api, row.form) == (api, form)]
    package = rows[0].package if rows else ""
    version = versions.get(package, "") or versions.get(_DISTRIBUTIONS.get(package, ""), "")
    entry = find_defaults(rows, api, version, form)
    if entry is None and len(rows) == 1 and rows[0].until:
        # The API is gone from newer versions: a source that names it means one that has it.
        (entry,) = rows
        return entry, Found(f"default of {package} before {entry.until}", certain=True)
    if entry is None:
        return None
    shown = version or (entry.measured[0] if entry.measured else "")
    label = f"default of {entry.package} {shown}".rstrip()
    return entry, Found(label, certain=bool(version) or len(rows) == 1)


def trainer_of(apis: tuple[str, ...], versions: Mapping[str, str], program: Program) -> Library:
    """Return the library that runs the loop, by the interfaces that the sources use."""
    hooked = any(
        name.rpartition(".")[2] in _HOOKS for module in program.modules for name in module.functions
    )
    for api in apis:
        if api == "lightning" and steps_by_hand(program):
            return Library()
        if api in TRAINERS and (defaults := find(TRAINERS[api], versions)):
            entry, whose = defaults
            values: dict[str, Any] = {}
            for name in _WINDOW:
                if name in entry.arguments:
                    values["accumulation.steps"] = entry.arguments[name]
            clips = [name for name in _CLIP if name in entry.arguments]
            if clips and not entry.arguments[clips[0]] and not hooked:
                values["clipping.kind"] = "none"
            return Library(whose.label, whose.certain, values)
    named = next((_OTHERS[api] for api in apis if api in _OTHERS), "")
    return Library(f"default of {named}, no version named") if named else Library()
