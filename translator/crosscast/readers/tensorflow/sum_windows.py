"""When sums of gradients are applied: the tests that end their windows of micro-batches."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast.pysource.syntax.nodes import identifier, walk
from crosscast.readers.python.value_flow import flow_of
from crosscast.readers.tensorflow.gradient_sums import GradientSum
from crosscast.readers.tensorflow.session_runs import rounds_of_runs, runs_of
from crosscast.readers.tensorflow.still_counters import stands_still

if TYPE_CHECKING:
    from crosscast.pysource.programs.module import Function, Module

_CHOOSES = frozenset({"cond", "smart_cond", "switch", "case", "tf_cond", "in_train_phase"})
_EQUALS = frozenset({"equal", "greater_equal", "greater"})
_COUNTS = re.compile(r"step|count|iter|micro|accum|batch", re.I)
_WINDOW = re.compile(
    r"accum|micro|mini_?batch|window|chunk|sub_?batch|virtual|iter_size|total", re.I
)
_LEVELS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class SumWindow:
    """A test that is true once a window, for a sum of gradients."""

    test: ast.AST
    module: Module
    counter: ast.expr
    length: ast.expr
    repeats: bool
    """Whether it is `counter % length == 0`; otherwise the counter starts again."""
    never: bool = False
    """Whether it is never true, because nothing advances the counter."""


def window_of(total: GradientSum) -> SumWindow | None:
    """Return the test for the end of a window; None if there is none, or it is not understood."""
    if total.applied is None:
        owner = total.module.class_of(total.node)
        return next(_windows(owner, total.module), None) if owner is not None else None
    for call in (total.applied, *total.also):
        for test, module in _tests(call.node, call.module, _LEVELS):
            found = next(_windows(test, module), None)
            if found is not None:
                return found
    return _session_window(total)


def length_of(total: GradientSum) -> tuple[ast.expr, Module] | None:
    """Return the number of micro-batches of a window; None if the program does not show it."""
    found = window_of(total)
    if found is not None:
        return found.length, found.module
    rounds = _loop_rounds(total) or _session_rounds(total) or _own_rounds(total)
    named = rounds is not None and _WINDOW.search(f"{rounds[1].text(rounds[0])} {total.root}")
    return rounds if named else None  # else the loop may run over tasks, or parts of a loss


def _tests(node: ast.AST, module: Module, levels: int) -> Iterator[tuple[ast.AST, Module]]:
    """Yield the conditions that a node stands under, also those of its function's callers."""
    child, here = node, module.parent(node)
    while here is not None and not isinstance(here, ast.FunctionDef | ast.AsyncFunctionDef):
        if isinstance(here, ast.If | ast.IfExp) and child is not here.test:
            yield here.test, module
        elif isinstance(here, ast.Call) and child is not here.func:
            yield from _chosen_by(here, module)
        child, here = here, module.parent(here)
    if isinstance(here, ast.FunctionDef) and levels:
        for use, where in _uses(here, module):
            yield from _tests(use, where, levels - 1)


def _chosen_by(call: ast.Call, module: Module) -> Iterator[tuple[ast.AST, Module]]:
    """Yield the condition of `tf.cond(test, do, nothing)`."""
    if identifier(call.func) not in _CHOOSES:
        return
    given = next((k.value for k in call.keywords if k.arg in ("pred", "condition")), None)
    if given is None and call.args:
        given = call.args[0]
    if given is not None:
        yield given, module


def _uses(function: Function, module: Module) -> Iterator[tuple[ast.AST, Module]]:
    """Yield where a function is called, or passed on as a value: `tf.cond(test, self.apply)`."""
    program = module.program
    if program is not None:
        for site in program.sites(module, function):
            yield site.node, site.module
    for node in module.nodes:
        if not isinstance(node, ast.Name | ast.Attribute) or identifier(node) != function.name:
            continue
        parent = module.parent(node)
        given = isinstance(node.ctx, ast.Load) and isinstance(parent, ast.Call | ast.keyword)
        called = getattr(parent, "func", None) is node
        if given and not called and not _redefines(node, parent, module):
            yield node, module


def _redefines(node: ast.expr, parent: ast.AST | None, module: Module) -> bool:
    """Whether a function is only wrapped and gets its own name again: `step = compiled(step)`."""
    statement = module.parent(parent) if parent is not None else None
    match statement:
        case ast.Assign(targets=[target]):
            return module.text(target) == module.text(node)
    return False


def _windows(test: ast.AST, module: Module) -> Iterator[SumWindow]:
    """Yield the window tests in a condition, names followed."""
    parts = (
        flow_of(test, module) if isinstance(test, ast.expr) else [(n, module) for n in walk(test)]
    )
    for node, where in parts:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and _is_length(node.right):
            yield SumWindow(
                test=node, module=where, counter=node.left, length=node.right, repeats=True
            )
    for node, where in parts:
        pair = _compared(node)
        if pair is None:
            continue
        for counter, length in (pair, pair[::-1]):
            if not _is_equal(node) and not _is_cleared(counter, where):
                continue  # true forever from some step on
            never = _is_equal(node) and stands_still(counter, where)
            if _is_length(length) and (never or _advances(counter, where)):
                yield SumWindow(
                    test=node,
                    module=where,
                    counter=counter,
                    length=length,
                    repeats=False,
                    never=never,
                )


def _is_length(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int) and not isinstance(node.value, bool) and node.value > 1
    return True


def _compared(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    match node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.GtE() | ast.Gt()], comparators=[right]):
            return left, right
        case ast.Call(func=function, args=[left, right, *_]) if identifier(function) in _EQUALS:
            return left, right
    return None


def _is_equal(node: ast.AST) -> bool:
    match node:
        case ast.Compare(ops=[ast.Eq()]):
            return True
        case ast.Call(func=function):
            return identifier(function) == "equal"
    return False


def _is_cleared(counter: ast.expr, module: Module) -> bool:
    """Whether a counter that a condition compares is set to 0 again."""
    while isinstance(counter, ast.BinOp):
        counter = counter.left
    text = module.text(counter)
    for node in module.nodes:
        match node:
            case ast.Assign(targets=[target], value=value) if module.text(target) == text:
                if _may_be_zero(value) and not _is_made(node, counter, module):
                    return True
            case ast.Call(func=ast.Attribute(value=of, attr="assign"), args=[value, *_]):
                if module.text(of) == text and _may_be_zero(value):
                    return True
            case ast.Call(func=ast.Attribute(attr="assign"), args=[of, value, *_]):
                if module.text(of) == text and _may_be_zero(value):
                    return True
    return False


def _may_be_zero(value: ast.expr) -> bool:
    """Whether a value is 0, or is so at the end of a window: `count % n`, `count * not_full`."""
    return any(
        (isinstance(part, ast.Constant) and part.value == 0)
        or (isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod | ast.Mult))
        or (isinstance(part, ast.Name | ast.Attribute) and "zero" in identifier(part))
        for part in walk(value)
    )


def _is_made(node: ast.Assign, counter: ast.expr, module: Module) -> bool:
    """Whether an assignment creates a counter, before any window."""
    if isinstance(counter, ast.Name):
        return module.enclosing(node, ast.For, ast.While, ast.If) is None
    function = module.function_of(node)
    return function is None or function.name in ("__init__", "build")


def _advances(node: ast.expr, module: Module) -> bool:
    """Whether an expression is a counter that the program increases."""
    while isinstance(node, ast.BinOp):
        node = node.left
    if isinstance(node, ast.Call) and node.args and identifier(node.func) in ("cast", "int"):
        node = node.args[0]
    if not isinstance(node, ast.Name | ast.Attribute):
        return False
    if not _COUNTS.search(identifier(node)) and not _starts_again(node, module):
        return False
    return any(True for _ in increases(node, module))


def _starts_again(counter: ast.expr, module: Module) -> bool:
    """Whether a variable is set to 0: `seen.assign(0)`."""
    text = module.text(counter)
    return any(
        isinstance(node.func, ast.Attribute)
        and node.func.attr == "assign"
        and module.text(node.func.value) == text
        and any(isinstance(given, ast.Constant) and given.value == 0 for given in node.args[:1])
        for node in module.every(ast.Call)
    )


def increases(counter: ast.expr, module: Module) -> Iterator[ast.AST]:
    """Yield where a program adds 1 to a counter, in the order of the text."""
    text = module.text(counter)
    for node in module.nodes:
        match node:
            case ast.AugAssign(target=target, op=ast.Add(), value=by):
                if module.text(target) == text and _is_one(by):
                    yield node
            case ast.Call(func=ast.Attribute(value=of, attr="assign_add")):
                function = node.args and identifier(of) in ("tf", "state_ops")
                given = node.args if function else [of, *node.args]
                if module.text(given[0]) == text and all(_is_one(by) for by in given[1:2]):
                    yield node
            case ast.Call(func=ast.Attribute(attr="assign"), args=[value]):
                assert isinstance(node.func, ast.Attribute)
                if module.text(node.func.value) == text and _is_next(value, text, module):
                    yield node
            case ast.Assign(targets=[target], value=value) if module.text(target) == text:
                if _is_next(value, text, module):
                    yield node


def _is_one(node: ast.expr) -> bool:
    """Whether something is 1, also as a tensor: `tf.constant(1)`, `tf.ones_like(counter)`."""
    match node:
        case ast.Constant(value=value):
            return bool(value == 1)
        case ast.Call(func=function) if identifier(function) in ("ones", "ones_like"):
            return True
        case ast.Call(args=[first, *_]):
            return _is_one(first)
    return False


def _is_next(value: ast.expr, text: str, module: Module) -> bool:
    return (
        isinstance(value, ast.BinOp)
        and isinstance(value.op, ast.Add)
        and text in (module.text(value.left), module.text(value.right))
    )


def rounds_of(total: GradientSum) -> tuple[ast.For, Module] | None:
    """Return the loop over the micro-batches of a window, if the sum is applied behind it.

    It stands around the addition, or around the call of the function that adds.
    """
    node, module = total.place
    applied = total.applied
    if applied is None:
        return None
    used = {n.id for n in walk(node) if isinstance(n, ast.Name)}
    every = [applied, *total.also]
    ends: set[ast.AST] = {call.node for call in every}
    ends |= {site for c in every for site in _calls_of_function_of(c.node, c.module)}
    for begin, where in ((node, module), *_sites_of_function_of(node, module)):
        here = where.enclosing(begin, ast.For)
        while isinstance(here, ast.For):
            if any(inner in ends for inner in walk(here)):
                break
            target = here.target.id if isinstance(here.target, ast.Name) else ""
            direct = begin is node
            counts = target not in used if direct else _ends_behind(here, ends, where)
            if counts and _number_of(here) is not None:
                return here, where
            here = where.enclosing(here, ast.For)
    return None


def _number_of(loop: ast.For) -> ast.expr | None:
    """Return N of `for _ in range(N):`."""
    rounds = loop.iter
    if not isinstance(rounds, ast.Call) or identifier(rounds.func) != "range":
        return None
    given = rounds.args[-1] if len(rounds.args) in (1, 2) else None
    return given if given is not None and _is_length(given) else None


def _ends_behind(loop: ast.For, ends: set[ast.AST], module: Module) -> bool:
    """Whether the function of a loop applies the sum behind it."""
    function: ast.AST = module.function_of(loop) or module.tree
    after = loop.end_lineno or loop.lineno
    return any(inner in ends and getattr(inner, "lineno", 0) > after for inner in walk(function))


def _sites_of_function_of(node: ast.AST, module: Module) -> list[tuple[ast.AST, Module]]:
    """Return the calls of the function that a node stands in."""
    function, program = module.function_of(node), module.program
    if function is None or program is None:
        return []
    return [(site.node, site.module) for site in program.sites(module, function)]


def _calls_of_function_of(node: ast.AST, module: Module) -> list[ast.AST]:
    return [site for site, _ in _sites_of_function_of(node, module)]


def _loop_rounds(total: GradientSum) -> tuple[ast.expr, Module] | None:
    """Return N of `for _ in range(N):` around the addition, if the sum is applied behind it."""
    found = rounds_of(total)
    number = _number_of(found[0]) if found is not None else None
    return (number, found[1]) if found is not None and number is not None else None


def _own_rounds(total: GradientSum) -> tuple[ast.expr, Module] | None:
    """Return N of the loop around the addition in a function that returns the sum to its caller."""
    module, applied = total.module, total.applied
    here = module.enclosing(total.node, ast.For)
    if applied is None or module.function_of(applied.node) is module.function_of(total.node):
        return None
    used = {n.id for n in walk(total.node) if isinstance(n, ast.Name)}
    while isinstance(here, ast.For):
        number = _number_of(here)
        if number is not None and not used & {
            n.id for n in walk(here.target) if isinstance(n, ast.Name)
        }:
            return (number, module) if _WINDOW.search(module.text(number)) else None
        here = module.enclosing(here, ast.For)
    return None


def _session_rounds(total: GradientSum) -> tuple[ast.expr, Module] | None:
    """Return N of `for _ in range(N): session.run(add)`, for the sum of a graph."""
    program, applied = total.module.program, total.applied
    if program is None or applied is None:
        return None
    found = rounds_of_runs(total.node, applied.node, program)
    return next((rounds for rounds in found if _is_length(rounds[0])), None)


def _session_window(total: GradientSum) -> SumWindow | None:
    """Return the test under which sessions run the update of a graph, and not the addition."""
    program, applied = total.module.program, total.applied
    if program is None or applied is None:
        return None
    updates = runs_of(applied.node, program)
    adds = [run for run in runs_of(total.node, program) if run not in updates]
    if len(updates) != 1 or not adds:
        return None
    update = updates[0][0]
    tests = list(_tests(update.node, update.module, _LEVELS))
    others = {test for run, _ in adds for test, _ in _tests(run.node, run.module, _LEVELS)}
    windows = (_windows(test, module) for test, module in tests if test not in others)
    return next((window for each in windows for window in each), None)
