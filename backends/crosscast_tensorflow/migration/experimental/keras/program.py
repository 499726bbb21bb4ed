"""What a program creates, compiles and chooses by itself."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from crosscast_reading.lint.outdated_apis import within_try
from crosscast_reading.pysource.names.lookup import bindings_of
from crosscast_reading.readers.python.compiled_models import compiled
from crosscast_reading.readers.python.library_calls import calls_of, canonical
from crosscast_tensorflow.reading.keras_optimizers import OPTIMIZER

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_OTHER = re.compile(r"__version__|VERSION|hasattr|getattr|\bversion\b")
_STRATEGY = re.compile(r"strategy", re.I)


def strategy_of(program: Program) -> Call | None:
    """Return the first call that creates or uses a strategy for more than one device."""
    for name, call in calls_of(program):
        if name.startswith("tensorflow.distribute.") and "OneDevice" not in name:
            return call
        runs = call.method in ("scope", "run", "experimental_run_v2")
        if runs and call.receiver is not None and _STRATEGY.search(call.receiver_text):
            return call
    return None


def own_choice(module: Module, node: ast.AST, new: str) -> bool:
    """Whether a program itself chooses between an old and a new name.

    Args:
        module: of the node.
        node: a use of the old name.
        new: a word that occurs only in the new API.
    """
    if within_try(module, node):
        return True
    child, here = node, module.parent(node)
    while here is not None:
        if isinstance(here, ast.ExceptHandler):
            return True
        if isinstance(here, ast.If | ast.IfExp) and child is not here.test:
            others = here.orelse if child in _list(here.body) else here.body
            text = " ".join(module.text(element) for element in _list(others))
            if new in text or _OTHER.search(module.text(here.test)):
                return True
        child, here = here, module.parent(here)
    return False


def _list(block: ast.AST | list[ast.stmt]) -> list[ast.AST]:
    return list(block) if isinstance(block, list) else [block]


def chain_of(node: ast.expr) -> list[str]:
    """Return the parts of `a.b.c`; empty if it does not begin with a name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) else []


def imported_as(node: ast.expr, module: Module) -> tuple[str, list[str]] | None:
    """Return the imported name of `a` in `a.b.c`, and the other parts.

    None if `a` is not only bound by imports.
    """
    parts = chain_of(node)
    if not parts:
        return None
    root: ast.AST = node
    while isinstance(root, ast.Attribute):
        root = root.value
    bindings = list(bindings_of(parts[0], root, module))
    targets = {binding.target for binding in bindings}
    if not bindings or len(targets) != 1 or any(binding.kind != "import" for binding in bindings):
        return None
    return targets.pop(), parts[1:]


def is_keras_optimizer(call: Call) -> bool:
    """Whether a call certainly creates an optimizer that exists in Keras 3."""
    names = [canonical(name) for name in call.names]
    return bool(names) and all(
        OPTIMIZER.fullmatch(name)
        and re.fullmatch(r"keras\.optimizers\.[A-Z]\w*", name)
        and not name.endswith("LossScaleOptimizer")
        for name in names
    )


def compiles(program: Program) -> list[Call]:
    """Return the calls of `compile` of Keras models, including possible ones."""
    return list({id(model.node): model for model in compiled(program)}.values())


def optimizer_of(call: Call) -> ast.expr | None:
    """Return the optimizer argument of a `compile`."""
    for keyword in call.node.keywords:
        if keyword.arg == "optimizer":
            return keyword.value
    return call.node.args[0] if call.node.args else None


def open_call(node: ast.Call) -> bool:
    """Whether a call has starred arguments."""
    return any(isinstance(argument, ast.Starred) for argument in node.args) or any(
        keyword.arg is None for keyword in node.keywords
    )


def argument(call: ast.Call, place: int, name: str) -> ast.expr | None:
    """Return a positional or keyword argument of a call."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    return call.args[place] if len(call.args) > place else None
