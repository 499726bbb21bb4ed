"""Learning rates that move, by objects and functions that the files given do not show."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.pysource.names.containers import chase, definitions
from crosscast.pysource.syntax.nodes import walk
from crosscast.readers.torch.schedule_functions import Candidate
from crosscast.readers.torch.schedule_names import decay_of
from crosscast.trainstep.steps.search import training_steps

if TYPE_CHECKING:
    from crosscast.pysource.programs.module import Module
    from crosscast.pysource.programs.program import Program
    from crosscast.trainstep.events import Event

_COMPUTES = ("math.", "numpy.", "torch.")
_PLAIN = frozenset({"min", "max", "float", "int", "round", "abs", "pow", "sum", "len", "getattr"})
_HOPS = 6


def moved_on(program: Program) -> Iterator[Candidate]:
    """Yield what the steps of schedules say whose making is not among the files."""
    for step in training_steps(program):
        for event in step.of("schedule"):
            if event.loops and not event.library:
                place = (event.span,)
                yield Candidate(_who(event), place, confidence="likely")


def _who(event: Event) -> str:
    node, module = event.node, event.module
    if isinstance(node, ast.Call):
        inner = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        return "caller" if _is_given(inner, module) else "elsewhere"
    value = getattr(node, "value", None)
    if not isinstance(value, ast.expr):
        return "custom"
    names = [one for one in walk(value) if isinstance(one, ast.Name)]
    if any(_is_given(one, module) for one in names):
        return "caller"
    return "elsewhere" if outside(value, module) is not None else "custom"


def _is_given(node: ast.expr, module: Module) -> bool:
    """Whether a parameter brings it, whose function none of the files calls."""
    program = module.program
    return any(
        found.kind == "parameter"
        and one.id not in ("self", "cls")
        and not (program is not None and program.arguments_for(found, one.id))
        for one, where in chase(node, module)
        if isinstance(one, ast.Name)
        for found in definitions(one, where)
    )


def outside(node: ast.expr, module: Module, hops: int = 0) -> tuple[ast.Call, Module] | None:
    """Return the call of another file's function that gives a rate: `rates[step]`, `policy(it)`."""
    if hops > _HOPS:
        return None
    if isinstance(node, ast.Subscript):
        return outside(node.value, module, hops + 1)
    if isinstance(node, ast.BinOp):
        left = outside(node.left, module, hops + 1)
        return left or outside(node.right, module, hops + 1)
    if isinstance(node, ast.Call):
        return (node, module) if _is_outside(node, module) else None
    if isinstance(node, ast.Name):
        for one, where in chase(node, module):
            if one is not node and (found := outside(one, where, hops + 1)) is not None:
                return found
    return None


def _is_outside(node: ast.Call, module: Module) -> bool:
    program = module.program
    if program is None or program.function(module.call(node)) is not None:
        return False
    name = module.resolve(node.func)
    return ":" not in name and not name.startswith(_COMPUTES) and name not in _PLAIN


def by_outside(node: ast.Call, module: Module) -> tuple[str, bool]:
    """Return the fall that the name of another file's function tells, and whether it warms up."""
    name = module.resolve(node.func) or module.text(node.func)
    words = [one.arg or "" for one in node.keywords]
    warms = any(word.startswith("warm") and not _is_zero(node, word) for word in words)
    kept = isinstance(node.func, ast.Attribute) and "sched" in module.text(node.func.value).lower()
    return decay_of(name) or ("elsewhere" if kept else "custom"), warms


def _is_zero(node: ast.Call, word: str) -> bool:
    return any(
        one.arg == word and isinstance(one.value, ast.Constant) and one.value.value in (0, None)
        for one in node.keywords
    )
