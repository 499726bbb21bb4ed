"""Functions that are written into a migrated file, with the names and arguments of the old ones."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

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
_OPERATIONS = ("paddle/fluid_operations.py", "paddle/fluid_operation_kinds.py.j2")
_FILES = (
    "paddle/dynamic_layers.py",
    "paddle/dynamic_schedules.py.j2",
    "paddle/dynamic_operations.py",
    "paddle/dynamic_operation_kinds.py.j2",
    *_OPERATIONS,
    "paddle/fluid_graphs.py",
    "paddle/fluid_variables.py.j2",
    "paddle/fluid_images.py",
    "paddle/fluid_layers.py",
    "paddle/fluid_training.py",
    "paddle/fluid_optimizers.py.j2",
)


def all_helpers() -> Mapping[str, Definition]:
    """Return name to function."""
    return definitions(*_FILES, **template_values())


def template_values() -> Mapping[str, Hashable]:
    """Return what the templates of the functions read."""
    rows = OPTIMIZERS.items()
    return {"optimizers": tuple((kind, text, tuple(names_of(text))) for kind, text in rows)}


def operations() -> list[str]:
    """Return the names of functions that append one operation of Paddle 1, or a few."""
    return list(definitions(*_OPERATIONS))


def names_of(parameters: str) -> list[str]:
    """Return the names of parameters, which may have defaults."""
    return [part.partition("=")[0] for part in parameters.split(", ")]
