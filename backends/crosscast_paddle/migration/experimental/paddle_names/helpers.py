"""Functions that are written into a migrated file, with the names and arguments of the old ones."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from crosscast_migrate.written_code import Definition, definitions

OPTIMIZERS = {
    "SGD": "learning_rate",
    "Momentum": "learning_rate, momentum",
    "Adam": "learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08",
    "Adamax": "learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08",
    "Adagrad": "learning_rate, epsilon=1e-06",
    "RMSProp": "learning_rate, rho=0.95, epsilon=1e-06, momentum=0.0, centered=False",
}
"""Optimizer and the parameters that have a place in every release."""
_OPERATIONS = ("fluid_operations.py", "fluid_operation_kinds.py.j2")
_FILES = (
    *("dynamic_layers.py", "dynamic_schedules.py.j2"),
    *("dynamic_operations.py", "dynamic_operation_kinds.py.j2"),
    *_OPERATIONS,
    *("fluid_graphs.py", "fluid_variables.py.j2", "fluid_images.py", "fluid_layers.py"),
    *("fluid_training.py", "fluid_optimizers.py.j2"),
)


@cache
def all_helpers() -> Mapping[str, Definition]:
    """Return name to function."""
    return definitions([f"paddle/{file}" for file in _FILES], template_values())


def template_values() -> Mapping[str, object]:
    """Return what the templates of the functions read."""
    optimizers = [(kind, text, names_of(text)) for kind, text in OPTIMIZERS.items()]
    return {"optimizers": optimizers}


def operations() -> list[str]:
    """Return the names of functions that append one operation of Paddle 1, or a few."""
    return list(definitions(f"paddle/{file}" for file in _OPERATIONS))


def names_of(parameters: str) -> list[str]:
    """Return the names of parameters, which may have defaults."""
    return [part.partition("=")[0] for part in parameters.split(", ")]
