"""What a model returns that stands in no file of the program: which entry is its loss."""

from __future__ import annotations

import ast
import re

from crosscast.pysource.names.containers import definitions
from crosscast.pysource.programs.module import Module
from crosscast.trainstep.frames.object_kinds import is_loss_name, is_model_name, last_name

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
    if (told and runs_model(node, module)) or (
        key == 0 and uses_transformers(module) and _calls_model(node, module)
    ):
        return "named"
    if key == "loss" and module.call(node).method == "training_step":
        return "named"
    return "unknown"


def reduction_within(node: ast.Subscript, key: str | int, module: Module) -> str:
    """Return the reduction of an entry of a container in a model's output: `out["losses"]["x"]`."""
    told = isinstance(key, str) and is_loss_name(key)
    return "named" if told and is_output(node.value, module) else "unknown"


def _asks_criterion(node: ast.Call, module: Module) -> bool:
    """Whether a criterion that is not in the program is called, or that of the base class."""
    function = node.func
    if isinstance(function, ast.Attribute) and function.attr == "forward":
        function = function.value
        if isinstance(function, ast.Call):
            return isinstance(function.func, ast.Name) and function.func.id == "super"
    named = isinstance(function, ast.Name | ast.Attribute)
    unseen = ":" not in module.call(node).name
    return unseen and named and bool(_CRITERION.search(last_name(function)))


def is_output(node: ast.expr, module: Module) -> bool:
    """Whether it is certainly what a model returns."""
    if isinstance(node, ast.Name):
        made = definitions(node, module)
        return bool(made) and all(
            binding.kind == "assign"
            and not binding.path
            and isinstance(binding.value, ast.Call)
            and runs_model(binding.value, binding.module)
            for binding in made
        )
    return isinstance(node, ast.Call) and runs_model(node, module)


def runs_model(node: ast.Call, module: Module) -> bool:
    """Whether a model is called that is no layer of a library and not in the program."""
    return _calls_model(node, module) and not _LAYERS.search(module.call(node).name)


def _calls_model(node: ast.Call, module: Module) -> bool:
    """Whether something is called that has the name of a model and is not in the program."""
    function = node.func
    if isinstance(function, ast.Attribute) and function.attr == "forward":
        function = function.value
    if ":" in module.call(node).name or not (node.args or node.keywords):
        return False
    if not isinstance(function, ast.Name | ast.Attribute):
        return False
    return is_model_name(last_name(function)) or _is_trained(function, module)


def _is_trained(node: ast.expr, module: Module) -> bool:
    """Whether something has parameters that the module hands to an optimizer or the like."""
    text = module.text(node)
    return any(c.method == "parameters" and c.receiver_text == text for c in module.calls)


def uses_transformers(module: Module) -> bool:
    """Whether a module imports the library, whose models return their losses."""
    return any("transformers" in name for name in module.imported)
