"""What a model returns that stands in no file of the program: which entry is its loss."""

from __future__ import annotations

import ast
import re

from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.trainstep.frames.object_kinds import is_loss_name, is_model_name, last_name

_LAYERS = re.compile(
    r"^(torch|paddle)\.(?!nn\.parallel\.|DataParallel|compile|jit|nn\.(Module|Layer)\.__call__$)"
)
"""What makes layers of a library, whose output is no loss.

Wrappers of models are not among it, and neither is the base class, which tells that it is a model.
"""
_MEANS = re.compile(r"^(avg|average|mean)_|_(avg|average|mean)$", re.I)
"""Names that tell a mean from a sum which is returned beside it."""
_CRITERION = re.compile(r"^(criterion|criteria|loss_(fn|func|function|fct))$", re.I)


def reduction_of_entry(node: ast.Call, key: str | int, module: Module, name: str) -> str:
    """Return the reduction of an entry of the output of a model of another file."""
    word = key if isinstance(key, str) else name
    told = is_loss_name(word)
    if told and _MEANS.search(word) and (runs_model(node, module) or _asks_criterion(node, module)):
        return "mean"
    named = (
        (told and runs_model(node, module))
        or (key == 0 and uses_transformers(module) and _calls_model(node, module))
        or (key == "loss" and module.call(node).method == "training_step")
    )
    return "named" if named else "unknown"


def reduction_within(node: ast.Subscript, key: str | int, module: Module) -> str:
    """Return the reduction of an entry of a container in a model's output: `out["losses"]["x"]`."""
    told = is_loss_name(str(key))
    return "named" if told and is_output(node.value, module) else "unknown"


def _asks_criterion(node: ast.Call, module: Module) -> bool:
    """Whether a criterion that is not in the program is called, or that of the base class."""
    match node.func:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="forward"):
            return True
        case ast.Attribute(value=function, attr="forward") | function:
            unseen = ":" not in module.call(node).name
            return unseen and bool(_CRITERION.search(identifier(function)))


def is_output(node: ast.expr, module: Module) -> bool:
    """Whether it is certainly what a model returns."""
    match node:
        case ast.Call():
            return runs_model(node, module)
        case ast.Name():
            made = definitions(node, module)
            return bool(made) and all(
                isinstance(b.assigned, ast.Call) and runs_model(b.assigned, b.module) for b in made
            )
    return False


def runs_model(node: ast.Call, module: Module) -> bool:
    """Whether a model is called that is no layer of a library and not in the program."""
    return _calls_model(node, module) and not _LAYERS.search(module.call(node).name)


def _calls_model(node: ast.Call, module: Module) -> bool:
    """Whether something is called that has the name of a model and is not in the program."""
    if ":" in module.call(node).name or not (node.args or node.keywords):
        return False
    match node.func:
        case ast.Attribute(value=ast.Name() | ast.Attribute() as function, attr="forward") | (
            ast.Name() | ast.Attribute() as function
        ):
            return is_model_name(last_name(function)) or _is_trained(function, module)
    return False


def _is_trained(node: ast.expr, module: Module) -> bool:
    """Whether something has parameters that the module hands to an optimizer or the like."""
    text = module.text(node)
    return any(c.method == "parameters" and c.receiver_text == text for c in module.calls)


def uses_transformers(module: Module) -> bool:
    """Whether a module imports the library, whose models return their losses."""
    return any("transformers" in name for name in module.imported)
