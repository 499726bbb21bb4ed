"""What a transformation of optax does, read from the function that makes its updates.

Optax keeps the settings of a transformation in the closure of that function, under the names of
the arguments of the factory that made it. A row of `TERMS` names the factory, what is read, and
the settings with which it is what a recipe can say; a transformation without a row, or with other
settings, keeps its own name, which no recipe knows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

HAND_ON = frozenset(
    {
        *("chain", "named_chain", "identity", "with_extra_args_support", "masked", "partition"),
        *("multi_transform", "inject_hyperparams", "inject_stateful_hyperparams", "MultiSteps"),
    }
)
"""Factories whose transformations do nothing but call others."""
ACCUMULATING = "MultiSteps"


class TermRow(NamedTuple):
    """How a transformation is read."""

    kind: str
    settings: Mapping[str, str] = {}
    """Name of a setting in a record to the name of its variable."""
    usual: Mapping[str, Any] = {}
    """Variables with the values without which it is something else."""


TERMS = {
    "scale_by_adam": TermRow(
        "adam", {"b1": "b1", "b2": "b2", "eps": "eps"}, {"eps_root": 0.0, "nesterov": False}
    ),
    "trace": TermRow("momentum", {"momentum": "decay", "nesterov": "nesterov"}),
    "scale_by_lion": TermRow("lion", {"b1": "b1", "b2": "b2"}),
    "scale_by_trust_ratio": TermRow(
        "trust ratio", {}, {"min_norm": 0.0, "trust_coefficient": 1.0, "eps": 0.0}
    ),
    "add_decayed_weights": TermRow("decay", {"weight_decay": "weight_decay"}),
    "clip_by_global_norm": TermRow("clip by global_norm", {"limit": "max_norm"}),
    "clip": TermRow("clip by value", {"limit": "max_delta"}),
    "scale": TermRow("rate", {"factor": "step_size"}),
    "scale_by_schedule": TermRow("rate", {"factor": "step_size_fn"}),
    "set_to_zero": TermRow("zero"),
}
"""Factory to row."""
CLIP = "clip by "


class Term(NamedTuple):
    """A transformation in one update. `settings` are numbers, or arrays of one."""

    kind: str
    settings: Mapping[str, Any]


def factory_of(update: Callable[..., Any]) -> str:
    """Return the name of the factory that made an update function."""
    return str(getattr(update, "__qualname__", update)).split(".")[0]


def is_of_optax(update: Callable[..., Any]) -> bool:
    """Whether optax itself defines an update function."""
    return str(getattr(update, "__module__", "")).split(".")[0] == "optax"


def hands_on(update: Callable[..., Any]) -> bool:
    """Whether a transformation only calls others, or nothing."""
    return is_of_optax(update) and factory_of(update) in HAND_ON


def term_of(update: Callable[..., Any], state: Any) -> Term:
    """Return the term that an update function computes with a state.

    A rate that is a schedule is computed from the count in the state, as optax computes it.
    """
    name = factory_of(update)
    row = TERMS.get(name) if is_of_optax(update) else None
    if row is None:
        return Term(name, {})
    variables = _variables(update)
    known = {*row.settings.values(), *row.usual} <= variables.keys()
    if not known or any(not _same(variables[key], value) for key, value in row.usual.items()):
        return Term(name, {})
    settings = {setting: variables[variable] for setting, variable in row.settings.items()}
    for setting, value in settings.items():
        if callable(value):
            if row.kind != "rate":  # a decay with a schedule of its own
                return Term(name, {})
            settings[setting] = value(state.count)
    return Term(row.kind, settings)


def _variables(update: Callable[..., Any]) -> dict[str, Any]:
    code, cells = getattr(update, "__code__", None), getattr(update, "__closure__", None) or ()
    if code is None:
        return {}
    return {name: cell.cell_contents for name, cell in zip(code.co_freevars, cells, strict=True)}


def _same(value: Any, usual: Any) -> bool:
    """Whether a variable has its usual value; one that is traced has not."""
    try:
        return bool(value == usual)
    except Exception:
        return False
