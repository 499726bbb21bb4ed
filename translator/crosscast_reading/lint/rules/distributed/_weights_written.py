"""Whether a program writes the weights of a model before it trains it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.syntax.nodes import identifier, walk
from crosscast_reading.sources.connected import connected
from crosscast_reading.trainstep.events import TrainingStep
from crosscast_reading.trainstep.frames.weight_sources import is_collection, is_weight

_DRAWS = re.compile(
    r"^(normal|uniform|xavier|kaiming|trunc_normal|orthogonal|sparse|bernoulli|exponential|random"
    r"|cauchy|geometric|log_normal)(_\w+)?_$|^requires_grad_$"
)
"""Methods and functions that draw numbers from the generator of a process, or write none."""
_WRITES = re.compile(r"[a-z0-9]_$|^(set_value|assign|__setitem__)$")
_READS = re.compile(
    r"^(torch|paddle)\.(?!distributed\.)|^(builtins|numpy|math|itertools|logging|collections)\."
)
"""Functions that leave their arguments, unless their names end in `_`."""
_BUILTIN = frozenset(
    {
        *("print", "len", "sum", "list", "tuple", "dict", "zip", "enumerate", "sorted", "filter"),
        *("map", "isinstance", "id", "str", "repr", "any", "all", "max", "min", "iter", "next"),
        *("set", "type", "reversed", "float", "int", "hasattr", "getattr"),
    }
)
_STORES = frozenset({"append", "extend", "add_param_group", "info", "debug", "save", "format"})
"""Methods that keep or show what they get."""


def written_before(step: TrainingStep) -> bool:
    """Whether weights may be written before a training loop, by code that it does not run."""
    modules = connected(step.module)
    run = set(map(id, _run_by(step, modules)))
    return any(id(node) not in run for module in modules for node in _writers(module))


def _run_by(step: TrainingStep, modules: Iterable[Module]) -> Iterator[ast.AST]:
    """Yield the nodes of a loop and of the functions that it may call, by their names."""
    functions: dict[str, list[ast.AST]] = {}
    for module in modules:
        for function in module.every(ast.FunctionDef):
            functions.setdefault(function.name, []).append(function)
    names = [part.rpartition(".")[2].rpartition(":")[2] for part in step.parts]
    home = step.function.rpartition(".")[2].rpartition(":")[2]
    waiting = [body for name in names if name != home for body in functions.pop(name, ())]
    waiting += [step.loop.node] if step.loop is not None else functions.pop(home, [])
    while waiting:
        for node in walk(waiting.pop()):
            yield node
            if isinstance(node, ast.Call):
                waiting += functions.pop(identifier(node.func), ())


def _writers(module: Module) -> Iterator[ast.AST]:
    statements: tuple[ast.Assign | ast.AugAssign, ...] = (
        *module.every(ast.Assign),
        *module.every(ast.AugAssign),
    )
    for node in statements:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if any(_is_content(target, module) for target in targets):
            yield node
    for call in module.calls:
        if _may_write(call):
            yield call.node


def _is_content(target: ast.expr, module: Module) -> bool:
    """Whether a target is what a weight holds: `p.data`, `p[...]`, `model.fc.weight`."""
    match target:
        case ast.Attribute(value=inner, attr="data"):
            return is_weight(inner, module)
        case ast.Attribute(attr="weight" | "bias"):
            return True
        case ast.Subscript(value=inner):
            return is_weight(inner, module) and not is_collection(inner, module)
    return False


def _may_write(call: Call) -> bool:
    """Whether a call writes a weight, or hands one on to what is not visible."""
    module, node = call.module, call.node
    name = call.method or identifier(node.func)
    if _DRAWS.search(name):
        return False
    receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
    if _WRITES.search(name) and receiver is not None and is_weight(receiver, module):
        return True
    known = ":" in call.name or name in _BUILTIN or name in _STORES
    if known or (_READS.search(call.name) and not _WRITES.search(name)):
        return False
    arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
    return any(is_weight(each, module) for each in arguments)
