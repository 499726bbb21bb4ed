"""Counters of a training run: which names count its epochs, its steps, or those of an epoch."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.syntax.nodes import identifier, walk
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.library_calls import canonical, parts_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

Unit = Literal["run", "epoch", "within"]
_LOOPS = (ast.For, ast.While, ast.AsyncFor)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)
_EPOCHS = frozenset({"epoch", "epochs", "ep"})
_STEPS = frozenset(
    {
        *("last_epoch", "_step_count", "global_step", "num_updates", "step_num", "n_steps", "step"),
        *("n_current_steps", "current_step", "_step", "iterations", "iteration", "cur_iter"),
        *("global_steps", "num_step", "step_id", "cur_step", "it", "iter_num", "steps_num"),
    }
)
"""Names that count the steps of a run where nothing in the files given counts them."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What a counter counts, and its first value."""

    unit: Unit
    """Steps of the run, epochs, or the steps within an epoch."""
    first: int = 0


def progress_of(node: ast.expr, module: Module) -> Progress | None:
    """Return the progress that a name counts; None if it is no counter."""
    if not isinstance(node, ast.Name | ast.Attribute):
        return None
    bindings = _everywhere(node, module)
    name = identifier(node)
    if bindings or isinstance(node, ast.Name):
        counted = next(
            (p for b in bindings if (p := _of_binding(b, node, bindings)) is not None), None
        )
        by_epoch = parts_of(name) & _EPOCHS and _is_left_to_callers(bindings)
        return Progress("epoch") if counted is None and by_epoch else counted
    return Progress("run", 1 if name == "_step_count" else 0) if name in _STEPS else None


def _everywhere(node: ast.Name | ast.Attribute, module: Module) -> list[Binding]:
    """Return all assignments to a name in the scope of one of them, also those replaced by it.

    An attribute is also raised by other methods of its class.
    """
    bindings = list(definitions(node, module))
    if isinstance(node, ast.Attribute):
        text, owner = module.text(node), module.class_of(node)
        raised = [
            Binding("augment", each, module.scope_of(each))
            for each in module.every(ast.AugAssign)
            if module.text(each.target) == text and module.class_of(each) is owner
        ]
        return [*bindings, *raised]
    homes = [binding.scope.home(node.id) for binding in bindings[:1]]
    return [each for home in homes for each in home.bindings.get(node.id, bindings)]


def _is_left_to_callers(bindings: list[Binding]) -> bool:
    """Whether a name is a parameter of functions that the files given do not call."""
    for binding in bindings:
        match binding:
            case Binding(kind="parameter", node=ast.arg()):
                if binding.module.program.arguments_for(binding):
                    return False
            case _:
                return False
    return bool(bindings)


def _of_binding(binding: Binding, use: ast.expr, bindings: list[Binding]) -> Progress | None:
    if binding.kind == "loop":
        return _of_loop(binding)
    first = _counted_variable(binding, use)
    if first is not None:
        return Progress("epoch" if parts_of(identifier(use)) & _EPOCHS else "run", first)
    added = _added(binding)
    module = binding.module
    rounds = _loop_around(binding.node, module) or module.function_of(binding.node)
    if not added or rounds is None:
        return None
    first = _first_value(bindings) + (added if _is_before(binding, use, rounds) else 0)
    if parts_of(identifier(use)) & _EPOCHS:
        return Progress("epoch", first)
    return Progress("within" if _is_reset(rounds, module, bindings) else "run", first)


def _counted_variable(binding: Binding, use: ast.expr) -> int | None:
    """Return the first value of `steps = tf.Variable(0)` that `steps.assign_add(1)` raises."""
    module, name = binding.module, binding.module.text(use)
    match binding:
        case Binding(kind="assign", value=ast.Call(args=[start, *_]) as made):
            pass
        case _:
            return None
    if canonical(module.call(made).name) != "tensorflow.Variable":
        return None
    if any(each.method == "assign" and each.receiver_text == name for each in module.calls):
        return None  # it may begin again
    for call in module.calls:
        match call.node:
            case ast.Call(func=ast.Attribute(attr="assign_add"), args=[ast.Constant(value=1)]):
                if call.receiver_text == name:
                    before = call.node.lineno < use.lineno
                    same = module.function_of(call.node) is module.function_of(use)
                    return _number(start, module) + (same and before)
    return None


def _of_loop(binding: Binding) -> Progress | None:
    """Return the progress that a loop variable counts: of `range`, or the number of `enumerate`."""
    iterated, module = binding.value, binding.module
    calls = [n for n in walk(iterated) if isinstance(n, ast.Call)] if iterated is not None else []
    words = {identifier(call.func): call for call in calls}
    match binding.path, words:
        case (0, *_), {"enumerate": ast.Call(args=[_, *starts], keywords=named)}:
            starts = [*starts, *(keyword.value for keyword in named)]
        case (), {"range": ast.Call(args=[*starts, _])} | {"trange": ast.Call(args=[*starts, _])}:
            pass
        case (), {"count": ast.Call(args=starts)}:
            pass
        case _:
            return None
    first = _number(starts[0], module) if starts else 0
    name = next((inner.id for inner in walk(binding.node) if isinstance(inner, ast.Name)), "")
    name = binding.node.id if isinstance(binding.node, ast.Name) else name
    if parts_of(name) & _EPOCHS:
        return Progress("epoch", first)
    around = list(itertools.islice(_loops_around(binding.node, module), 2))
    return Progress("within" if len(around) == 2 else "run", first)


def _added(binding: Binding) -> int:
    """Return the whole number that an assignment adds to a counter; 0 if it is none."""
    match binding.node:
        case ast.AugAssign(op=ast.Add(), value=ast.Constant(value=int() as number)):
            return number
        case ast.Assign(
            targets=[target],
            value=ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=int() as number)),
        ):
            return number if ast.dump(left).replace("Load", "Store") == ast.dump(target) else 0
    return 0


def _first_value(bindings: list[Binding]) -> int:
    for binding in bindings:
        match binding:
            case Binding(kind="assign", value=ast.expr() as value) if not _added(binding):
                return _number(value, binding.module)
    return 0


def _number(node: ast.expr, module: Module) -> int:
    value = evaluate(node, module)
    content = value.value if isinstance(value, Known) else 0
    return content if isinstance(content, int) else 0


def _loop_around(node: ast.AST, module: Module) -> ast.AST | None:
    here = module.enclosing(node, *_LOOPS, *_DEFINITIONS)
    return here if isinstance(here, _LOOPS) else None


def _is_before(binding: Binding, use: ast.expr, rounds: ast.AST) -> bool:
    """Whether a counter is counted before its use in the same round of a loop, or call."""
    inside = any(inner is use for inner in walk(rounds))
    return inside and getattr(binding.node, "lineno", 0) < use.lineno


def _is_reset(loop: ast.AST, module: Module, bindings: list[Binding]) -> bool:
    """Whether a counter of a loop starts anew in every round of a loop around it."""
    for binding in bindings:
        if binding.kind == "assign" and not _added(binding):
            return any(outer is not loop for outer in _loops_around(binding.node, module))
    return False


def _loops_around(node: ast.AST, module: Module, depth: int = 0) -> Iterator[ast.AST]:
    """Yield the loops around a node, also around the calls of its function."""
    here = module.enclosing(node, *_LOOPS, *_DEFINITIONS)
    while isinstance(here, _LOOPS):
        yield here
        here = module.enclosing(here, *_LOOPS, *_DEFINITIONS)
    if depth < 2 and isinstance(here, ast.FunctionDef):
        for site in module.program.call_sites(module, here):
            yield from _loops_around(site.node, site.module, depth + 1)
