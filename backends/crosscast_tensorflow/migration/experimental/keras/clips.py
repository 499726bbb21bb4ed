"""Manual clipping between unscaling and applying, which Keras 3 leaves to the optimizer."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.library_calls import canonical, value_of
from crosscast_tensorflow.migration.experimental.keras.loss_scales import is_literal

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

ARGUMENTS = ("clipnorm", "clipvalue", "global_clipnorm")


@dataclass(frozen=True, slots=True)
class Clip:
    """A clipping that equals an argument of the optimizer."""

    statement: ast.Assign
    target: str
    """The clipped gradients."""
    argument: str
    """global_clipnorm, clipnorm or clipvalue."""
    limit: str
    """The limit as source text, consisting of constants."""


def clip_of(gradients: ast.Name, module: Module) -> Clip | None:
    """Return the clipping of named gradients; None if there is none that can be moved."""
    statement = module.statement_of(gradients)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target, value = statement.targets[0], statement.value
    if isinstance(value, ast.ListComp):
        return _each(statement, target, value, gradients, module)
    if not isinstance(value, ast.Call) or module.parent(gradients) is not value:
        return None
    name = canonical(module.call(value).name)
    if name != "tensorflow.clip_by_global_norm" or not isinstance(target, ast.Tuple):
        return None
    names = [element.id if isinstance(element, ast.Name) else "" for element in target.elts]
    limit = _limit(value, 1, "clip_norm")
    unused = len(names) == 2 and not _read(names[1], module)
    if not names[0] or not unused or limit is None or value.args[:1] != [gradients]:
        return None
    if len(value.args) + len(value.keywords) != 2:
        return None
    return Clip(statement, names[0], "global_clipnorm", module.text(limit))


def _read(name: str, module: Module) -> bool:
    return not name or any(
        node.id == name and isinstance(node.ctx, ast.Load) for node in module.every(ast.Name)
    )


def _limit(call: ast.Call, place: int, name: str) -> ast.expr | None:
    """Return a limit that consists of constants."""
    found = next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
    if found is None and len(call.args) > place:
        found = call.args[place]
    return found if found is not None and is_literal(found) else None


def _each(
    statement: ast.Assign,
    target: ast.expr,
    made: ast.ListComp,
    gradients: ast.Name,
    module: Module,
) -> Clip | None:
    """Read `[tf.clip_by_norm(g, 1.0) for g in gradients]` and the equivalent clipping by value."""
    loop = made.generators[0]
    call = made.elt
    plain = (
        len(made.generators) == 1
        and loop.iter is gradients
        and not loop.ifs
        and isinstance(loop.target, ast.Name)
        and isinstance(call, ast.Call)
        and isinstance(target, ast.Name)
    )
    if not plain:
        return None
    assert isinstance(call, ast.Call)
    assert isinstance(loop.target, ast.Name)
    assert isinstance(target, ast.Name)
    first = call.args[0] if call.args else None
    if not isinstance(first, ast.Name) or first.id != loop.target.id:
        return None
    name = canonical(module.call(call).name)
    count = len(call.args) + len(call.keywords)
    if name == "tensorflow.clip_by_norm" and count == 2:
        limit = _limit(call, 1, "clip_norm")
        return Clip(statement, target.id, "clipnorm", module.text(limit)) if limit else None
    if name == "tensorflow.clip_by_value" and count == 3:
        low, high = _limit(call, 1, "clip_value_min"), _limit(call, 2, "clip_value_max")
        if low is None or high is None:
            return None
        ends = [value_of(low, module), value_of(high, module)]
        numbers = [
            end.value
            for end in ends
            if isinstance(end, Known) and isinstance(end.value, int | float)
        ]
        if len(numbers) == 2 and numbers[0] == -numbers[1]:
            return Clip(statement, target.id, "clipvalue", module.text(high))
    return None
