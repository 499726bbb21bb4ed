"""The clean comparisons of `make false-alarms`: groups of recipes, and what varies around each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import starmap
from typing import Any

from crosscast.recipe.document import Recipe
from crosscast.recipe.load import load
from crosscast_parity.planning.options import Options
from crosscast_parity.recipes.derived import changed, with_dtype, with_seed
from crosscast_parity.self_test.mutation import Mutation
from mutants.rewrites import COMPILED, REWRITES
from mutants.storage import RECIPE as STORED
from mutants.trials import RECIPE

DTYPES = ("float32", "float16", "bfloat16")
SEEDS = (7, 8, 9, 10)
REWRITTEN: Mapping[str, Mapping[str, tuple[Mutation, ...]]] = {
    f"float16, seed {SEEDS[0]}": REWRITES,
    f"float32, seed {SEEDS[0]}": COMPILED,
}
"""Rewrites by group and framework; the quick check of float16 also trains in float32."""
FRAMEWORKS = ("torch", "tensorflow", "paddle", "jax")

ADAPTIVE = {"learning_rate": 1e-3, "weight_decay": 0.1}
RECIPES: Mapping[str, Mapping[str, Any]] = {
    "Adam with L2 decay": {"optimizer": {"name": "adam", **ADAPTIVE}},
    "SGD with momentum": {"optimizer": {"name": "sgd", "learning_rate": 0.1, "momentum": 0.9}},
    "LAMB": {"optimizer": {"name": "lamb", "learning_rate": 1e-2, "weight_decay": 0.1}},
    "Lion": {"optimizer": {"name": "lion", "learning_rate": 1e-4, "weight_decay": 0.1}},
    "Adafactor": {"optimizer": {"name": "adafactor", "learning_rate": 1e-2}},
    "no clipping, cosine": {
        "clipping": {"kind": "none"},
        "schedule": {"name": "cosine", "warmup_steps": 10, "total_steps": 64},
    },
    "clipping by tensor, constant rate": {
        "clipping": {"kind": "per_param_norm", "max_norm": 0.05},
        "schedule": {"name": "constant", "total_steps": 64},
    },
    "clipping by value, polynomial": {
        "clipping": {"kind": "value", "max_value": 1e-3},
        "schedule": {"name": "polynomial", "power": 2.0, "warmup_steps": 10, "total_steps": 64},
    },
    "micro-batch means, short windows dropped": {
        "accumulation": {"steps": 4, "normalize_by": "microbatch", "tail": "drop"}
    },
    "averaged weights, rows in order": {"ema": {"decay": 0.9}, "data.shuffle": False},
    "no accumulation": {
        "batch": {"micro_batch_size": 16, "global_batch_size": 16},
        "accumulation": {"steps": 1},
    },
    "checkpointed layers": {"activation_checkpointing": True},
}

Program = tuple[str, Mutation | None]
"""A framework, and what is rewritten in its script."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How a comparison differs from its reference, which is PyTorch in one thread, emulated.

    `rewrites`: changes of the scripts that keep their meaning, each in a program of its own.
    """

    name: str
    frameworks: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    rewrites: tuple[Mutation, ...] = ()

    @property
    def programs(self) -> list[Program]:
        """What is compared with the reference."""
        return [(name, change) for name in self.frameworks for change in self.rewrites or (None,)]

    def apply(self, options: Options) -> Options:
        """Return the options of the comparison."""
        return replace(options, **self.options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A recipe with its settings; all are compared with one reference."""

    name: str
    recipe: Recipe
    settings: tuple[Setting, ...]


ALONE = Setting(name="other framework", frameworks=("tensorflow", "paddle", "jax"))
THREADS = Setting(name="two threads", frameworks=FRAMEWORKS, options={"threads": 2})
NATIVE = Setting(name="native half", frameworks=("torch", "tensorflow"), options={"half": "native"})
ONEDNN = Setting(  # the harness turns it off, where the processor has not done so
    name="oneDNN on",
    frameworks=("tensorflow",),
    options={"environment": (("TF_ENABLE_ONEDNN_OPTS", "1"),)},
)


def _rewritten(framework: str, rewrites: tuple[Mutation, ...]) -> Setting:
    return Setting(name=f"{framework} rewritten", frameworks=(framework,), rewrites=rewrites)


def groups() -> Iterator[Group]:
    """Yield all groups, the ones with most settings first."""
    base = load(str(RECIPE))
    for seed in SEEDS:
        for dtype in DTYPES:
            settings = [ALONE]
            if seed in SEEDS[:2]:
                settings += [THREADS, ONEDNN]
            if seed in SEEDS[:3] and dtype != "float32":
                settings.append(NATIVE)
            name = f"{dtype}, seed {seed}"
            settings += starmap(_rewritten, REWRITTEN.get(name, {}).items())
            yield Group(
                name=name, recipe=with_dtype(with_seed(base, seed), dtype), settings=tuple(settings)
            )
    stored = load(str(STORED))
    for dtype in DTYPES:
        settings = [ALONE, THREADS] if dtype == "float32" else [ALONE, THREADS, NATIVE]
        recipe = with_dtype(stored, dtype)
        yield Group(name=f"version 2, {dtype}", recipe=recipe, settings=tuple(settings))
    for name, changes in RECIPES.items():
        for dtype in ("float16", "float32"):
            recipe = with_dtype(changed(base, changes), dtype)
            yield Group(name=f"{name}, {dtype}", recipe=recipe, settings=(ALONE,))


def count() -> int:
    """Return the number of comparisons."""
    return sum(len(setting.programs) for group in groups() for setting in group.settings)
