"""When sums of gradients are applied: the tests that end their windows of micro-batches."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.pysource.programs.once import once
from crosscast_reading.pysource.syntax.nodes import identifier, walk
from crosscast_reading.readers.python.value_flow import flow_of
from crosscast_tensorflow.reading.gradient_sums import GradientSum
from crosscast_tensorflow.reading.session_runs import rounds_of_runs, runs_of
from crosscast_tensorflow.reading.still_counters import stands_still

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program

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
    known = _known_windows(total.module.program)
    if total not in known:
        known[total] = _window_of(total)
    return known[total]


@once
def _known_windows(program: Program) -> dict[GradientSum, SumWindow | None]:
    """Return the windows found so far; several rules ask for each."""
    return {}


def _window_of(total: GradientSum) -> SumWindow | None:
    if total.applied is None:
        owner = total.module.class_of(total.node)
        return next(_windows(owner, total.module), None) if owner is not None else None
    for call in total.every:
        for test, module in _tests(call.node, call.module, _LEVELS):
            window = next(_windows(test, module), None)
            if window is not None:
                return window
    return _session_window(total, total.applied)


def length_of(total: GradientSum) -> tuple[ast.expr, Module] | None:
    """Return the number of micro-batches of a window; None if the program does not show it."""
    window = window_of(total)
    if window is not None:
        return window.length, window.module
    if total.applied is None:
        return None
    rounds = _loop_rounds(total) or _session_rounds(total, total.applied)
    rounds = rounds or _own_rounds(total, total.applied)
    named = rounds is not None and _WINDOW.search(f"{rounds[1].text(rounds[0])} {total.root}")
    return rounds if named else None  # else the loop may run over tasks, or parts of a loss


def _tests(node: ast.AST, module: Module, levels: int) -> Iterator[tuple[ast.AST, Module]]:
    """Yield the conditions that a node stands under, also those of its function's callers."""
    here = module.parent(node)
    while here is not None and not isinstance(here, ast.FunctionDef | ast.AsyncFunctionDef):
        if isinstance(here, ast.If | ast.IfExp):
            yield here.test, module
        elif isinstance(here, ast.Call):
            yield from _chosen_by(here, module)
        here = module.parent(here)
    if isinstance(here, ast.FunctionDef) and levels:
        for use, where in _uses(here, module):
            yield from _tests(use, where, levels - 1)


def _chosen_by(call: ast.Call, module: Module) -> Iterator[tuple[ast.AST, Module]]:
    """Yield the condition of `tf.cond(test, do, nothing)`."""
    if identifier(call.func) in _CHOOSES:
        named = [k.value for k in call.keywords if k.arg in ("pred", "condition")]
        for test in [*named, *call.args][:1]:
            yield test, module


def _uses(function: Function, module: Module) -> Iterator[tuple[ast.AST, Module]]:
    """Yield where a function is called, or passed on as a value: `tf.cond(test, self.apply)`."""
    for site in module.program.call_sites(module, function):
        yield site.node, site.module
    for node in _by_identifier(module).get(function.name, ()):
        parent = module.parent(node)
        given = isinstance(node.ctx, ast.Load) and isinstance(parent, ast.Call | ast.keyword)
        called = getattr(parent, "func", None) is node
        if given and not called and not _redefines(node, parent, module):
            yield node, module


@once
def _by_identifier(module: Module) -> dict[str, list[ast.Name | ast.Attribute]]:
    """Return the names of a module by their last part, in the order of its nodes."""
    names: dict[str, list[ast.Name | ast.Attribute]] = {}
    for node in module.nodes:
        if isinstance(node, ast.Name | ast.Attribute):
            names.setdefault(identifier(node), []).append(node)
    return names


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
        match node:
            case ast.BinOp(left=ast.Constant() | ast.JoinedStr()):
                continue  # a text: "model-%d" % step
            case ast.BinOp(left=counter, op=ast.Mod(), right=length) if _is_length(length):
                yield SumWindow(
                    test=node, module=where, counter=counter, length=length, repeats=True
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
    match node:
        case ast.Constant(value=int() as number):
            return number > 1
    return not isinstance(node, ast.Constant)


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
    counter = bare_counter(counter)
    text = module.text(counter)
    for node in module.nodes:
        match node:
            case ast.Assign(targets=[of], value=value) if not _is_made(node, counter, module):
                pass
            case ast.Call(func=ast.Attribute(attr="assign"), args=[of, value, *_]):
                pass
            case ast.Call(func=ast.Attribute(value=of, attr="assign"), args=[value]):
                pass
            case _:
                continue
        if module.text(of) == text and _may_be_zero(value):
            return True
    return False


def _may_be_zero(value: ast.expr) -> bool:
    """Whether a value is 0, or is so at the end of a window: `count % n`, `count * not_full`."""
    for part in walk(value):
        match part:
            case ast.Constant(value=0) | ast.BinOp(op=ast.Mod() | ast.Mult()):
                return True
            case ast.Name(id=word) | ast.Attribute(attr=word) if "zero" in word:
                return True
    return False


def _is_made(node: ast.Assign, counter: ast.expr, module: Module) -> bool:
    """Whether an assignment creates a counter, before any window."""
    if isinstance(counter, ast.Name):
        return module.enclosing(node, ast.For, ast.While, ast.If) is None
    return module.qualname(node).rpartition(".")[2] in ("", "__init__", "build")


def _advances(node: ast.expr, module: Module) -> bool:
    """Whether an expression is a counter that the program increases."""
    node = bare_counter(node)
    counts = _COUNTS.search(identifier(node)) or _is_cleared(node, module)
    return bool(counts) and any(True for _ in increases(node, module))


def bare_counter(counter: ast.expr) -> ast.expr:
    """Return the counter of `tf.cast(counter, tf.int32) + 1`."""
    match counter:
        case ast.BinOp(left=inner) | ast.Call(args=[inner, *_]):
            return bare_counter(inner)
    return counter


def increases(counter: ast.expr, module: Module) -> Iterator[ast.AST]:
    """Yield where a program adds 1 to a counter, in the order of the text."""
    text = module.text(counter)
    for node in module.nodes:
        match node:
            case ast.AugAssign(target=target, op=ast.Add(), value=by):
                adds = _is_one(by)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="tf" | "state_ops"), attr="assign_add"),
                args=[target, *given],
            ):
                adds = all(_is_one(by) for by in given[:1])
            case ast.Call(func=ast.Attribute(value=target, attr="assign_add"), args=given):
                adds = all(_is_one(by) for by in given[:1])
            case (
                ast.Call(func=ast.Attribute(value=target, attr="assign"), args=[value])
                | ast.Assign(targets=[target], value=value)
            ):
                adds = _is_next(value, text, module)
            case _:
                continue
        if adds and module.text(target) == text:
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
    """Whether a value is a counter plus 1."""
    match value:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            pairs = ((left, right), (right, left))
            return any(module.text(mine) == text and _is_one(by) for mine, by in pairs)
    return False


def rounds_of(total: GradientSum) -> tuple[ast.For, Module] | None:
    """Return the loop over the micro-batches of a window, if the sum is applied behind it.

    It stands around the addition, or around the call of the function that adds.
    """
    node, module = total.place
    applied = total.applied
    if applied is None:
        return None
    used = {n.id for n in walk(node) if isinstance(n, ast.Name)}
    ends: set[ast.Call] = {call.node for call in total.every}
    ends |= {site for c in total.every for site in _calls_of_function_of(c.node, c.module)}
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
    match loop.iter:
        case ast.Call(
            func=ast.Name(id="range") | ast.Attribute(attr="range"),
            args=[number] | [_, number],
        ):
            return number if _is_length(number) else None
    return None


def _ends_behind(loop: ast.For, ends: set[ast.Call], module: Module) -> bool:
    """Whether the function of a loop applies the sum behind it."""
    around = module.enclosing(loop, ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)
    assert around is not None
    assert loop.end_lineno is not None
    return any(end.lineno > loop.end_lineno for end in ends.intersection(walk(around)))


def _sites_of_function_of(node: ast.AST, module: Module) -> list[tuple[ast.Call, Module]]:
    """Return the calls of the function that a node stands in."""
    function = module.function_of(node)
    if function is None:
        return []
    return [(site.node, site.module) for site in module.program.call_sites(module, function)]


def _calls_of_function_of(node: ast.AST, module: Module) -> list[ast.Call]:
    return [site for site, _ in _sites_of_function_of(node, module)]


def _loop_rounds(total: GradientSum) -> tuple[ast.expr, Module] | None:
    """Return N of `for _ in range(N):` around the addition, if the sum is applied behind it."""
    loop = rounds_of(total)
    if loop is None:
        return None
    number = _number_of(loop[0])
    assert number is not None
    return number, loop[1]


def _own_rounds(total: GradientSum, applied: Call) -> tuple[ast.expr, Module] | None:
    """Return N of the loop around the addition in a function that returns the sum to its caller."""
    module = total.module
    here = module.enclosing(total.node, ast.For)
    if module.function_of(applied.node) is module.function_of(total.node):
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


def _session_rounds(total: GradientSum, applied: Call) -> tuple[ast.expr, Module] | None:
    """Return N of `for _ in range(N): session.run(add)`, for the sum of a graph."""
    candidates = rounds_of_runs(total.node, applied.node, total.module.program)
    return next((rounds for rounds in candidates if _is_length(rounds[0])), None)


def _session_window(total: GradientSum, applied: Call) -> SumWindow | None:
    """Return the test under which sessions run the update of a graph, and not the addition."""
    program = total.module.program
    updates = runs_of(applied.node, program)
    adds = [run for run in runs_of(total.node, program) if run not in updates]
    if len(updates) != 1 or not adds:
        return None
    update = updates[0][0]
    tests = list(_tests(update.node, update.module, _LEVELS))
    others = {test for run, _ in adds for test, _ in _tests(run.node, run.module, _LEVELS)}
    windows = (_windows(test, module) for test, module in tests if test not in others)
    return next((window for each in windows for window in each), None)
