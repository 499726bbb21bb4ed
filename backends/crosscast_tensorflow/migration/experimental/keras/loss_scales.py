"""Loss scales of old interfaces: "dynamic", a number, an object, or None."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from crosscast_reading.pysource.values.value import Instance, Known
from crosscast_reading.readers.python.library_calls import canonical, value_of
from crosscast_tensorflow.migration.experimental.keras.program import maker_of, open_call

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module

_OBJECT = re.compile(
    r"tensorflow\.(mixed_precision\.|train\.)(experimental\.)?(Dynamic|Fixed)LossScale"
)


@dataclass(frozen=True, slots=True)
class Scale:
    """A loss scale whose kind is certain."""

    kind: Literal["dynamic", "fixed", "none"]
    initial: str = ""
    """The initial or constant value, as text; empty for the default of all releases, 2 ** 15."""
    interval: str = ""
    """Clean steps until growth, as text; empty for the default of all releases, 2000."""


def scale_of(node: ast.expr | None, module: Module) -> Scale | None:
    """Return a loss scale; None if it is not certain."""
    if node is None:
        return Scale("dynamic")
    value = value_of(node, module)
    match value:
        case Known(value="dynamic", origin="literal" | "constant"):
            return Scale("dynamic")
        case Known(value=None, origin="literal" | "constant"):
            return Scale("none")
        case Known(value=bool()):
            return None
        case Known(value=int() | float()) if is_literal(node):
            return Scale("fixed", _written(node, module))
        case Instance(made_by=made) if _OBJECT.fullmatch(canonical(made)):
            call = maker_of(node, module)
            return _of_object(call) if call is not None else None
    return None


def _written(node: ast.expr, module: Module) -> str:
    """Return the source text of an expression, an integer as a float."""
    text = module.text(node)
    return f"{text}.0" if re.fullmatch(r"\d+", text) else text


def _of_object(call: Call) -> Scale | None:
    if open_call(call.node):
        return None
    given = call.bound()
    if len(given) != len(call.node.args) + len(call.node.keywords):
        return None
    if not all(map(is_literal, given.values())):
        return None
    texts = {name: call.module.text(argument) for name, argument in given.items()}
    if "Fixed" in call.name.rpartition(".")[2]:
        return Scale("fixed", texts.get("loss_scale_value", "")) if texts else None
    if set(texts) - {"initial_loss_scale", "increment_period", "multiplier"}:
        return None
    multiplier = value_of(given.get("multiplier"), call.module)
    if multiplier is not None and not (isinstance(multiplier, Known) and multiplier.value == 2):
        return None
    return Scale("dynamic", texts.get("initial_loss_scale", ""), texts.get("increment_period", ""))


def is_literal(node: ast.expr) -> bool:
    """Whether an expression consists of constants only."""
    return all(
        isinstance(part, ast.Constant | ast.BinOp | ast.operator | ast.UnaryOp | ast.unaryop)
        for part in ast.walk(node)
    )
