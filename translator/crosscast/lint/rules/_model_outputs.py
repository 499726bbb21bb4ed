"""What a model returns that stands in no file of the program: which entry is its loss."""

from __future__ import annotations

import ast
import re

from crosscast.pysource.names.containers import definitions
from crosscast.pysource.programs.module import Module
from crosscast.trainstep.frames.object_kinds import is_loss_name, is_model_name, last_name

_LAYERS = re.compile(r"^(torch|paddle)\.(?!nn\.parallel\.|DataParallel|compile|jit)")
"""What makes layers of a library, whose output is no loss; wrappers of models are not among it."""


def reduction_of_entry(node: ast.Call, key: str | int, module: Module, name: str) -> str:
    """Return the reduction of an entry of the output of a model of another file."""
    told = is_loss_name(key) if isinstance(key, str) else is_loss_name(name)
    if (told and runs_model(node, module)) or (
        key == 0 and uses_transformers(module) and _calls_model(node, module)
    ):
        return "named"
    if key == "loss" and module.call(node).method == "training_step":
        return "named"
    return "unknown"


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
