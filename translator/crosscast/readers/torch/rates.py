"""What a formula for a learning rate is: linear, cosine, noam, step, ..., with or without warm-up.

The formula is looked at with the names it uses followed to what they are assigned, as text of
code: what is recognised is its shape, not its numbers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast.pysource.names.containers import definitions
from crosscast.pysource.syntax.nodes import identifier, walk
from crosscast.readers.python.library_calls import parts_of

if TYPE_CHECKING:
    from crosscast.pysource.programs.module import Function, Module

_PROGRESS = frozenset(
    {
        *("step", "steps", "epoch", "epochs", "iter", "iters", "iteration", "iterations", "it"),
        *("progress", "updates", "update", "niter", "itr", "t", "batch", "current", "x", "i"),
        *("ep", "idx", "curr", "cur", "count", "counter", "trained", "nimg", "ni"),
    }
)
_LISTS = frozenset({"milestones", "milestone", "anneal", "boundaries", "boundary", "decays"})
_INDICES = frozenset({"index", "idx", "drops", "decays"})
_OPEN = frozenset({"min", "max", "float", "int", "round", "abs", "pow", "sum"})
_DEPTH = 5
Part = tuple[ast.AST, "Module"]


@dataclass(frozen=True, slots=True)
class Shape:
    """How a rate falls, and whether it rises first."""

    decay: str
    """A word of the vocabulary; empty: it does not depend on the course of training."""
    warmup: bool = False


def shape_of(nodes: list[Part]) -> Shape:
    """Return the shape of formulas, looked at together."""
    parts = list(_everything(nodes))
    words = frozenset().union(*(_words(node) for node, _ in parts)) if parts else frozenset()
    warm = any(word.startswith("warm") or word == "rampup" for word in words)
    if not words & _PROGRESS and not warm:
        return Shape("")
    return Shape(_decay(parts, words), warm)


def head_start(nodes: list[Part]) -> str:
    """Return the formula of a warm-up whose first rate is not 0: `(step + 1) / warmup`."""
    for node, module in _everything(nodes):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
            continue
        by_length = any(word.startswith("warm") for word in _words_within(node.right))
        if by_length and _is_ahead(node.left):
            return module.text(node)
    return ""


def _is_ahead(node: ast.expr) -> bool:
    """Whether a number is added to the count of steps."""
    while isinstance(node, ast.Call) and identifier(node.func) in ("float", "int") and node.args:
        node = node.args[0]
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return False
    for count, added in ((node.left, node.right), (node.right, node.left)):
        more = added.value if isinstance(added, ast.Constant) else 0
        if isinstance(more, int | float) and more > 0 and _words_within(count) & _PROGRESS:
            return True
    return False


def _decay(parts: list[Part], words: frozenset[str]) -> str:
    calls = {identifier(node.func) for node, _ in parts if isinstance(node, ast.Call)}
    if calls & {"cos", "cosine"} or "cosine" in words:
        return "cosine"
    powers: list[ast.expr] = [
        node
        for node, _ in parts
        if (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow))
        or (isinstance(node, ast.Call) and identifier(node.func) == "pow" and len(node.args) == 2)
    ]
    modules = {id(node): module for node, module in parts}
    texts = [modules[id(node)].text(node) for node in powers]
    roots = [t for t in texts if re.search(r"\*\* *\(?-? *(0?\.5|1\.5)", t)]
    if roots or calls & {"rsqrt"} or ("sqrt" in calls and "warmup" in words):
        both = any("1.5" in text for text in texts) or ("min" in calls and len(roots) > 0)
        return "noam" if both else "rsqrt"
    for node, text in zip(powers, texts, strict=True):
        if "//" in text or re.search(r"\bint\(|floor", text):
            return "step_custom" if words & _LISTS else "step"
        if _by_index(node):
            return "step_custom"
        if _is_poly(node, text):
            return "poly"
    if powers and words & _LISTS:
        return "step_custom"
    if powers or "exp" in calls:
        return "exponential"
    if _is_linear(parts):
        return "linear"
    if _by_milestones(parts):
        return "step_custom"
    return "custom"


def _by_index(node: ast.AST) -> bool:
    """Whether a power counts the drops that were made so far: `gamma ** step_index`."""
    exponent = node.right if isinstance(node, ast.BinOp) else node.args[1]  # type: ignore[attr-defined]
    return isinstance(exponent, ast.Name) and bool(parts_of(exponent.id) & _INDICES)


def _is_poly(node: ast.AST, text: str) -> bool:
    """Whether a power is of a share: `(1 - step / total) ** power`."""
    base = node.left if isinstance(node, ast.BinOp) else node.args[0]  # type: ignore[attr-defined]
    exponent = node.right if isinstance(node, ast.BinOp) else node.args[1]  # type: ignore[attr-defined]
    variable = {w for n in walk(exponent) for w in _words(n)} & _PROGRESS
    shared = any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub | ast.Div)
                 for n in walk(base))  # fmt: skip
    return not variable and (shared or isinstance(exponent, ast.Constant) or "power" in text)


def _by_milestones(parts: list[Part]) -> bool:
    """Whether the rate is multiplied at steps that a comparison or a list names."""
    for node, _ in parts:
        if isinstance(node, ast.Compare) and _words_within(node) & _PROGRESS:
            if any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod) for n in walk(node)):
                continue  # every so many steps: a window of accumulation, a log
            if isinstance(node.ops[0], ast.In | ast.NotIn):
                return True
            if not any(w.startswith("warm") for w in _words_within(node)):
                return True
        if isinstance(node, ast.Call) and identifier(node.func) in ("bisect", "bisect_right"):
            return True
    return any(_LISTS & _words(node) for node, _ in parts)


def _is_linear(parts: list[Part]) -> bool:
    for node, _ in parts:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            if isinstance(node.left, ast.Constant) and node.left.value == 1:
                return True
            away = _words_within(node.right)
            if away & _PROGRESS and not any(word.startswith("warm") for word in away):
                return True
        if isinstance(node, ast.Call) and "linear" in identifier(node.func):
            return True
        if isinstance(node, ast.Call) and identifier(node.func) == "interp":
            return True
    return False


def _everything(nodes: list[Part]) -> Iterator[Part]:
    """Yield every node of formulas and of what their names are assigned or functions return.

    What goes into a function that nothing is known of is not followed.
    """
    waiting = [(node, module, 0) for node, module in nodes]
    seen: set[int] = set()
    while waiting and len(seen) < 1500:
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
    return ":" in name or name.startswith(("math.", "numpy.", "torch.")) or name in _OPEN


def _behind(node: ast.AST, module: Module) -> Iterator[Part]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        found = list(definitions(node, module))
        if parts_of(node.id) & _PROGRESS and any(b.kind in ("augment", "loop") for b in found):
            return
        for one in found:
            if one.kind in ("assign", "augment") and one.value is not None:
                value = one.value
                if isinstance(value, ast.Call) and (one.path or _is_other(value, one.module)):
                    continue
                yield value, one.module
                yield from _tests(one.node, one.module)
    elif isinstance(node, ast.Call):
        program = module.program
        own = program.function(module.call(node)) if program is not None else None
        if own is not None:
            yield from ((one, own[0]) for one in results_of(own[1]))


def _is_other(node: ast.Call, module: Module) -> bool:
    """Whether a call makes something that has nothing to do with a rate."""
    name = module.resolve(node.func)
    return name.endswith(("parse_args", "load", "DataLoader", "parameters")) or not name


def _tests(node: ast.AST, module: Module) -> Iterator[Part]:
    """Yield the conditions and loops around an assignment within its function."""
    here = module.parent(node)
    while here is not None and not isinstance(here, ast.FunctionDef | ast.Module | ast.ClassDef):
        if isinstance(here, ast.If | ast.IfExp) and _words_within(here.test) & _PROGRESS:
            yield here.test, module
        here = module.parent(here)


def results_of(function: Function | ast.Lambda) -> list[ast.expr]:
    """Return what a function returns, with the conditions that choose it."""
    if isinstance(function, ast.Lambda):
        return [function.body]
    found: list[ast.expr] = []
    for one in walk(function):
        if isinstance(one, ast.Return) and one.value is not None:
            found.append(one.value)
        elif isinstance(one, ast.If):
            found.append(one.test)
    return found


def _words_within(node: ast.AST) -> frozenset[str]:
    return frozenset(w for n in walk(node) for w in _words(n))


def _words(node: ast.AST) -> frozenset[str]:
    if isinstance(node, ast.Name):
        return parts_of(node.id)
    if isinstance(node, ast.Attribute):
        return parts_of(node.attr)
    if isinstance(node, ast.arg):
        return parts_of(node.arg)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return parts_of(str(node.slice.value)[:40])
    return frozenset()
