"""The shape of learning rate formulas: linear, cosine, step, with or without warm-up.

A formula is looked at together with what its names are assigned and what the program's functions
return. The structure of the code decides, not its numbers: most of them come from flags, files or
state, so that the rates of two steps could rarely be computed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.containers import chase, definitions
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.syntax.nodes import identifier, walk
from crosscast_reading.readers.python.library_calls import parts_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Function, Module

_PROGRESS = frozenset(
    {
        *("step", "steps", "epoch", "epochs", "iter", "iters", "iteration", "iterations", "it"),
        *("progress", "updates", "update", "niter", "itr", "t", "batch", "current", "x", "i"),
        *("ep", "idx", "curr", "cur", "count", "counter", "trained", "nimg", "ni"),
    }
)
_LISTS = frozenset({"milestones", "milestone", "anneal", "boundaries", "boundary", "decays"})
_INDICES = frozenset({"index", "idx", "drops", "decays"})
_MATHEMATICS = ("math.", "numpy.", "torch.")
_ARITHMETIC = frozenset({"min", "max", "float", "int", "round", "abs", "pow", "sum"})
_BLOCKS = (ast.If, ast.IfExp, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)
_METHODS = ("get_lr", "_get_lr", "get_last_lr", "lr_at", "step", "__call__")
_DEPTH = 5
_HOPS = 6
Part = tuple[ast.AST, "Module"]


@dataclass(frozen=True, slots=True)
class Shape:
    """The decay of a rate, and whether it has a warm-up."""

    decay: str
    """A word of the vocabulary; empty if it does not depend on training progress."""
    warms: bool = False


def shape_of(formulas: Iterable[Part]) -> Shape:
    """Return the combined shape of formulas."""
    parts = list(_followed(formulas))
    words = frozenset(word for node, _ in parts for word in _words(node))
    warms = any(word.startswith("warm") or word == "rampup" for word in words)
    if not warms and not words & _PROGRESS:
        return Shape("")
    return Shape(_decay(parts, words), warms)


def shape_of_class(call: Call) -> Shape:
    """Return the shape of the class of the program that a call instantiates."""
    for scope in map(call.module.program.class_named, call.names):
        if scope is not None:
            module = scope.module
            methods = (module.functions.get(f"{scope.qualname}.{word}") for word in _METHODS)
            return shape_of(
                (node, module) for method in methods if method for node in _results(method)
            )
    return Shape("")


def head_start(formulas: Iterable[Part]) -> str:
    """Return the formula of a warm-up whose first rate is not 0: `(step + 1) / warmup`."""
    for node, module in _followed(formulas):
        match node:
            case ast.BinOp(left=count, op=ast.Div(), right=length) if _is_ahead(count):
                if any(word.startswith("warm") for word in _words_within(length)):
                    return module.text(node)
    return ""


def _is_ahead(node: ast.expr) -> bool:
    """Whether a number is added to the step counter."""
    match node:
        case ast.Call(func=ast.Name(id="float" | "int"), args=[inner]):
            return _is_ahead(inner)
        case (
            ast.BinOp(left=count, op=ast.Add(), right=ast.Constant())
            | ast.BinOp(left=ast.Constant(), op=ast.Add(), right=count)
        ):
            return bool(_words_within(count) & _PROGRESS)
    return False


def _decay(parts: list[Part], words: frozenset[str]) -> str:
    calls = {identifier(node.func) for node, _ in parts if isinstance(node, ast.Call)}
    if calls & {"cos", "cosine"} or "cosine" in words:
        return "cosine"
    powers = list(_powers(parts))
    roots = any(re.search(r"\*\* *+\(?-? *(0?\.5|1\.5)", text) for _, _, text in powers)
    if roots or "rsqrt" in calls or ("sqrt" in calls and "warmup" in words):
        both = any("1.5" in text for _, _, text in powers) or ("min" in calls and roots)
        return "noam" if both else "inverse_sqrt"
    for base, exponent, text in powers:
        if "//" in text or re.search(r"\bint\(|floor", text):
            return "step_custom" if words & _LISTS else "step"
        if isinstance(exponent, ast.Name) and parts_of(exponent.id) & _INDICES:
            return "step_custom"  # it counts the drops so far: `gamma ** step_index`
        if _is_share(base, exponent, text):
            return "polynomial"
    if powers and words & _LISTS:
        return "step_custom"
    if powers or "exp" in calls:
        return "exponential"
    if any(_is_linear(node) for node, _ in parts):
        return "linear"
    if words & _LISTS or any(_compares(node) for node, _ in parts):
        return "step_custom"
    return "custom"


def _powers(parts: list[Part]) -> Iterator[tuple[ast.expr, ast.expr, str]]:
    """Yield base, exponent and text of every power."""
    for node, module in parts:
        match node:
            case ast.BinOp(left=base, op=ast.Pow(), right=exponent):
                yield base, exponent, module.text(node)
            case ast.Call(func=function, args=[base, exponent]) if identifier(function) == "pow":
                yield base, exponent, f"{module.text(base)} ** {module.text(exponent)}"


def _is_share(base: ast.expr, exponent: ast.expr, text: str) -> bool:
    """Whether the base of a power is a share of the run: `(1 - step / total) ** power`."""
    shared = any(isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Sub | ast.Div)
                 for inner in walk(base))  # fmt: skip
    constant = isinstance(exponent, ast.Constant)
    return not _words_within(exponent) & _PROGRESS and (shared or constant or "power" in text)


def _compares(node: ast.AST) -> bool:
    """Whether the rate changes at steps given by a comparison."""
    if isinstance(node, ast.Call):
        return identifier(node.func) in ("bisect", "bisect_right")
    if not isinstance(node, ast.Compare) or not _words_within(node) & _PROGRESS:
        return False
    if any(isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Mod) for inner in walk(node)):
        return False  # every so many steps: a window of accumulation, a log
    return not any(word.startswith("warm") for word in _words_within(node))


def _is_linear(node: ast.AST) -> bool:
    """Whether a term proportional to the step is subtracted."""
    if isinstance(node, ast.Call):
        return "linear" in identifier(node.func) or identifier(node.func) == "interp"
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
        return False
    if isinstance(node.left, ast.Constant) and node.left.value == 1:
        return True
    away = _words_within(node.right)
    return bool(away & _PROGRESS) and not any(word.startswith("warm") for word in away)


def _followed(formulas: Iterable[Part]) -> Iterator[Part]:
    """Yield every node of formulas, of the values of their names and of returned expressions.

    Arguments of unknown functions are not followed.
    """
    waiting = [(node, module, 0) for node, module in formulas]
    seen: set[int] = set()
    while waiting:
        node, module, depth = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node, module
        closed = isinstance(node, ast.Call) and not _is_open(node, module)
        deeper = _DEPTH if closed else depth
        waiting += [(child, module, deeper) for child in ast.iter_child_nodes(node)]
        if depth < _DEPTH:
            waiting += [(n, m, depth + 1) for n, m in _behind(node, module)]


def _is_open(node: ast.Call, module: Module) -> bool:
    """Whether a call only computes with its arguments, or is a function of the program."""
    name = module.resolve(node.func)
    return ":" in name or name.startswith(_MATHEMATICS) or name in _ARITHMETIC


def _behind(node: ast.AST, module: Module) -> Iterator[Part]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        bindings = list(definitions(node, module))
        if parts_of(node.id) & _PROGRESS and any(b.kind in ("augment", "loop") for b in bindings):
            return
        for binding in bindings:
            match binding:
                case Binding(kind="assign" | "augment", value=ast.expr() as value):
                    yield from _assigned(binding, value)
    elif isinstance(node, ast.Call):
        own = module.program.function(module.call(node))
        if own is not None:
            yield from ((result, own[0]) for result in _results(own[1]))


def _assigned(binding: Binding, value: ast.expr) -> Iterator[Part]:
    """Yield the assigned value, and the tests about progress around it."""
    module = binding.module
    if isinstance(value, ast.Call) and (binding.path or _is_unrelated(value, module)):
        return
    yield value, module
    for test in tests_around(binding.node, module):
        if _words_within(test) & _PROGRESS:
            yield test, module


def _is_unrelated(node: ast.Call, module: Module) -> bool:
    """Whether a call creates an object unrelated to learning rates."""
    name = module.resolve(node.func)
    return name.endswith(("parse_args", "load", "DataLoader", "parameters"))


def tests_around(node: ast.AST, module: Module) -> Iterator[ast.expr]:
    """Yield the conditions around a node within its function, nearest first."""
    here = module.enclosing(node, *_BLOCKS)
    while isinstance(here, ast.If | ast.IfExp):
        yield here.test
        here = module.enclosing(here, *_BLOCKS)


def results_behind(node: ast.expr, module: Module) -> Iterator[Part]:
    """Yield the results of the functions behind an expression: a lambda, a name, a `partial`."""
    for source, where in chase(node, module):
        if isinstance(source, ast.Lambda):
            yield source.body, where
        elif isinstance(source, ast.List | ast.Tuple):
            for element in source.elts[:1]:
                yield from results_behind(element, where)
        elif isinstance(source, ast.Call) and where.resolve(source.func) == "functools.partial":
            for inner in source.args[:1]:
                yield from results_behind(inner, where)
        elif isinstance(source, ast.Name | ast.Attribute):
            for name in where.resolve_all(source):
                definition = module.program.function_named(name)
                if definition is not None:
                    yield from ((result, definition[0]) for result in _results(definition[1]))


def _results(function: Function) -> Iterator[ast.expr]:
    """Yield the results that a function returns, and the conditions that choose between them."""
    for node in walk(function):
        match node:
            case ast.Return(value=ast.expr() as result) | ast.If(test=result):
                yield result


def foreign_call(node: ast.expr, module: Module, hops: int = 0) -> Call | None:
    """Return a call of another file's function that gives a rate: `rates[step]`, `policy(it)`."""
    if hops > _HOPS:
        return None
    match node:
        case ast.Subscript(value=table):
            return foreign_call(table, module, hops + 1)
        case ast.BinOp(left=left, right=right):
            sides = (foreign_call(side, module, hops + 1) for side in (left, right))
            return next(filter(None, sides), None)
        case ast.Call():
            return module.call(node) if _is_foreign(node, module) else None
        case ast.Name():
            behind = (foreign_call(n, m, hops + 1) for n, m in chase(node, module) if n is not node)
            return next(filter(None, behind), None)
    return None


def _is_foreign(node: ast.Call, module: Module) -> bool:
    """Whether a call is of a function outside the files that may return a rate."""
    if module.program.function(module.call(node)) is not None:
        return False
    return not _is_open(node, module) and module.resolve(node.func) not in ("len", "getattr")


def _words_within(node: ast.AST) -> frozenset[str]:
    return frozenset(word for inner in walk(node) for word in _words(inner))


def _words(node: ast.AST) -> frozenset[str]:
    """Return the words of a name or key."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
            return parts_of(name)
        case ast.Subscript(slice=ast.Constant(value=key)):
            return parts_of(str(key)[:40])
    return frozenset()
