"""Which of the assignments to a name can be the one that a use of it sees."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.syntax.dead_code import leaves_block

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

MOST = 60
"""Where more assignments than these may hold at a use, any assignment to the name may."""
_TRANSPARENT = (ast.With, ast.AsyncWith)
_LOOPS = (ast.For, ast.While, ast.AsyncFor)


def reaching(bindings: Sequence[Binding], use: ast.AST | None, module: Module) -> Sequence[Binding]:
    """Return the bindings that may hold at a use in the same scope, in the order of the text.

    Args:
        bindings: of one name, in the order of the text.
        use: the node that reads it; None: whoever reads it does so when the scope has run.
        module: of both.
    """
    if len(bindings) == 1:
        return bindings
    candidates: list[Binding] = []
    later: list[Binding] = []
    ancestors = _ancestors(use, module) if use is not None else None
    near = bindings if len(bindings) <= MOST else _near(bindings, use, ancestors, module)
    for binding in near:
        if use is not None and not _before(binding.node, use):
            later.append(binding)
            continue
        statement = _statement(binding.node, module)
        side = _side(statement, ancestors, module)
        if side == "excluded":
            continue
        if side == "sure":
            candidates = [binding] if binding.kind != "augment" else [*candidates, binding]
            continue
        candidates = [*_uncovered(candidates, statement, module), binding]
    if ancestors is not None and later:
        candidates += [b for b in later if _comes_round(b, candidates, ancestors, module)]
    return candidates or bindings


def _near(
    bindings: Sequence[Binding],
    use: ast.AST | None,
    ancestors: dict[ast.AST, ast.AST] | None,
    module: Module,
) -> Sequence[Binding]:
    """Return those of many bindings that matter; none if they are still many.

    They begin with the last one that surely has run before the use, and end with the loops around
    the use. What they cost does not depend on the number of bindings: a file may hold hundreds of
    loops that share a name.
    """
    first = last = len(bindings)
    if use is not None:
        first = bisect_right(bindings, _start(use), key=lambda each: _start(each.node))
        loops = [each for each in ancestors or () if isinstance(each, _LOOPS)]
        end = _end(loops[-1]) if loops else _start(use)
        last = max(first, bisect_right(bindings, end, key=lambda each: _start(each.node)))
    for place in range(first - 1, max(first - 1 - MOST, -1), -1):
        binding = bindings[place]
        if binding.kind == "augment" or (use is not None and not _before(binding.node, use)):
            continue
        if _side(_statement(binding.node, module), ancestors, module) == "sure":
            first = place
            break
    else:
        first = 0
    return bindings[first:last] if last - first <= MOST else ()


def _comes_round(
    later: Binding, candidates: list[Binding], ancestors: dict[ast.AST, ast.AST], module: Module
) -> bool:
    """Whether what a loop assigns below a use is seen by the use in the next round."""
    here = module.parents.get(later.node)
    while here is not None:
        if here in ancestors and isinstance(here, _LOOPS):
            if ancestors[here] not in here.body:
                return False
            return not any(_is_renewed(b, here, ancestors, module) for b in candidates)
        here = module.parents.get(here)
    return False


def _is_renewed(
    binding: Binding, loop: ast.AST, ancestors: dict[ast.AST, ast.AST], module: Module
) -> bool:
    """Whether every round of a loop that gets to a use of a name passes an assignment to it."""
    if binding.kind == "loop" and module.parents.get(binding.node) is loop:
        return True
    here = module.parents.get(_statement(binding.node, module))
    while here is not None and here in ancestors:
        if here is loop:
            return True
        here = module.parents.get(here)
    return False


def condition_of(
    binding: Binding, use: ast.AST | None, module: Module
) -> tuple[ast.expr, bool] | None:
    """Return the innermost condition that a binding stands under and a use does not."""
    above = _ancestors(use, module) if use is not None else {}
    child: ast.AST = binding.node
    here = module.parents.get(child)
    while here is not None and here not in above:
        if isinstance(here, ast.If) and child is not here.test:
            return here.test, child in here.body
        if isinstance(here, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            return None
        child, here = here, module.parents.get(here)
    return None


def _before(node: ast.AST, use: ast.AST) -> bool:
    return _end(node) <= _start(use)


def _start(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _end(node: ast.AST) -> tuple[int, int]:
    line = getattr(node, "end_lineno", None) or getattr(node, "lineno", 0)
    return int(line or 0), getattr(node, "end_col_offset", None) or 0


def _ancestors(use: ast.AST, module: Module) -> dict[ast.AST, ast.AST]:
    """Return every ancestor, and the child of it that leads to the use."""
    ancestors: dict[ast.AST, ast.AST] = {}
    child, here = use, module.parents.get(use)
    while here is not None:
        ancestors[here] = child
        child, here = here, module.parents.get(here)
    return ancestors


def _statement(node: ast.AST, module: Module) -> ast.AST:
    """Return the statement of a binding, or the `with` around it that always runs it."""
    here = node
    while not isinstance(here, ast.stmt | ast.ExceptHandler):
        if here not in module.parents:
            return here
        here = module.parents[here]
    parent = module.parents.get(here)
    while isinstance(parent, _TRANSPARENT):
        here, parent = parent, module.parents.get(parent)
    return here


def _side(statement: ast.AST, ancestors: dict[ast.AST, ast.AST] | None, module: Module) -> str:
    """Return whether a statement has run before a use: sure, maybe, or excluded."""
    parent = module.parents.get(statement)
    if ancestors is None:
        scope = isinstance(
            parent, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        )
        return "sure" if scope else "maybe"
    if parent is None or isinstance(statement, ast.arg | ast.arguments):
        return "sure"
    if statement in ancestors:  # the loop or `with` whose target it is
        return "sure"
    if parent not in ancestors:
        return _other_branch(statement, ancestors, module)
    toward = ancestors[parent]
    if isinstance(parent, ast.If):
        return "sure" if (statement in parent.body) == (toward in parent.body) else "excluded"
    if isinstance(parent, ast.Try | ast.TryStar):
        same = (statement in parent.body) == (toward in parent.body)
        return "sure" if same else "maybe"
    return "sure"


def _other_branch(statement: ast.AST, ancestors: dict[ast.AST, ast.AST], module: Module) -> str:
    child, here = statement, module.parents.get(statement)
    while here is not None:
        if isinstance(here, ast.If) and leaves_block(
            here.body if child in here.body else here.orelse
        ):
            return "excluded"  # that branch never gets to the use
        if here in ancestors:
            toward = ancestors[here]
            if isinstance(here, ast.If) and (child in here.body) != (toward in here.body):
                return "excluded"
            return "maybe"
        child, here = here, module.parents.get(here)
    return "maybe"


def _uncovered(candidates: list[Binding], statement: ast.AST, module: Module) -> list[Binding]:
    """Drop assignments before an `if` in which every branch assigns to the name."""
    parent = module.parents.get(statement)
    if not isinstance(parent, ast.If) or statement not in parent.orelse:
        return candidates
    test: ast.If = parent
    while True:
        mine = [b for b in candidates if _within(b, test.body, module)]
        if not mine and not leaves_block(test.body):
            return candidates
        above = module.parents.get(test)
        if isinstance(above, ast.If) and above.orelse == [test]:
            test = above
            continue
        first = (test.lineno, test.col_offset)
        return [b for b in candidates if (_line(b), _column(b)) >= first]


def _within(binding: Binding, block: list[ast.stmt], module: Module) -> bool:
    return _statement(binding.node, module) in block


def _line(binding: Binding) -> int:
    return int(getattr(binding.node, "lineno", 0))


def _column(binding: Binding) -> int:
    return int(getattr(binding.node, "col_offset", 0))
