"""Calls of `tf.contrib.eager` that another expression of TensorFlow 2 replaces."""

from __future__ import annotations

import ast

from crosscast_reading.pysource.programs.module import Module
from crosscast_tensorflow.migration.experimental.edits import raw
from crosscast_tensorflow.migration.experimental.keras.program import open_call

PREFIX = "contrib.eager."
_INNER = "contrib.eager.python.tfe"
_METRICS = {"Accuracy": 2, "Mean": 1}
"""Metric that Keras computes the same way, and how many values each of its calls takes at least."""


def plain_path(path: str) -> str:
    """Return a path with `tf.contrib.eager` by its public name."""
    inner = f"{path}.".startswith(f"{_INNER}.")
    return "contrib.eager" + path.removeprefix(_INNER) if inner else path


def eager_form(path: str, call: ast.Call | None, module: Module, tensorflow: str) -> str:
    """Return what replaces a call; empty if nothing does that is certain.

    Args:
        path: what is called, without `tensorflow.`.
        call: None if it is not called.
        module: of the call.
        tensorflow: the local name of TensorFlow.
    """
    if call is None or not tensorflow or "#" in raw(module, call):
        return ""
    name = path.removeprefix(PREFIX)
    if name == "num_gpus" and not call.args and not call.keywords:
        return f'len({tensorflow}.config.list_physical_devices("GPU"))'
    metric = name.removeprefix("metrics.")
    if metric != name and metric in _METRICS and _is_like_keras(call, metric, module):
        given = [raw(module, value) for value in call.args]
        given += [f"{key.arg}={raw(module, key.value)}" for key in call.keywords]
        keys = [key.arg for key in call.keywords]
        given += [] if "dtype" in keys else [f"dtype={tensorflow}.float64"]
        return f"{tensorflow}.keras.metrics.{metric}({', '.join(given)})"
    return ""


def _is_like_keras(call: ast.Call, metric: str, module: Module) -> bool:
    """Whether a metric has a name, and nothing takes what its calls return.

    They returned their arguments; those of Keras return the result.
    """
    statement = module.parent(call)
    keys = {key.arg for key in call.keywords}
    if open_call(call) or len(call.args) > 1 or not keys <= {"name", "dtype"}:
        return False
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    if not isinstance(target, ast.Name):
        return False
    scope = module.scope_of(statement).home(target.id)
    for name in module.every(ast.Name):
        if name.id != target.id or module.scope_of(name).lookup(name.id) is not scope:
            continue
        use = module.parent(name)
        if isinstance(use, ast.Call) and use.func is name:
            few = len(use.args) < _METRICS[metric] or open_call(use) or use.keywords
            if few or not isinstance(module.parent(use), ast.Expr):
                return False
        elif isinstance(use, ast.Attribute):
            if use.attr != "result":
                return False
        elif isinstance(name.ctx, ast.Load):
            return False
    return True
