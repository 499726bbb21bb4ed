"""The optimizer steps of scaled losses, and the reads of their gradients before the step."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crosscast_reading.edits.layout import block_of
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_torch.migration.experimental.apex.gradient_readers import (
    bound_of_norm,
    droppers,
    readers_in,
)
from crosscast_torch.migration.experimental.apex.uses import Site, Stops, Test

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_LOOPS = (ast.For, ast.While, ast.AsyncFor)


@dataclass(slots=True, eq=False)
class Step:
    """An `optimizer.step()` after a scaled loss."""

    module: Module
    node: ast.Expr
    optimizer: str
    test: Test | None
    """Condition of the scaled loss, if the step itself is not under it."""
    last: bool = True
    """Whether it is the last step before the update of the scale."""
    unscale: list[tuple[ast.stmt, bool]] = field(default_factory=list)
    """Statements that need unscaled gradients, each with whether it is inside the condition."""
    readers: list[ast.stmt] = field(default_factory=list)
    """Statements between the backward pass and the step that read gradients."""
    clips: list[tuple[ast.stmt, ast.expr]] = field(default_factory=list)
    """Statements that clip the norm after every micro-batch, each with its bound.

    Gradients are unscaled once per step, so these are clipped as they are, to a scaled bound.
    """


def steps_of(sites: Sequence[Site], stops: Stops) -> list[Step]:
    """Return the steps of the optimizers of scaled losses.

    Args:
        sites: the scaled losses.
        stops: receives the reasons why the loop cannot be migrated.
    """
    found: list[Step] = []
    homes = dict.fromkeys((site.module, site.function) for site in sites)
    for module, function in homes:
        own = [s for s in sites if s.module is module and s.function is function]
        home = function or module.tree
        steps = list(_of_home(module, home, own, stops))
        _order(steps, own, stops)
        for step in steps:
            _reads(step, steps, home, own, stops)
        found += steps
    return found


def branch_of(module: Module, node: ast.AST, test: Test | None) -> bool | None:
    """Return True if a node runs only if losses are scaled, False if only otherwise, else None."""
    child, here = node, module.parent(node)
    while test is not None and here is not None:
        if isinstance(here, ast.If) and child is not here.test:
            if here is test.node or module.text(here.test) == test.text:
                return (child in here.body) == test.holds
            if module.text(here.test) in (f"not {test.text}", f"not ({test.text})"):
                return (child in here.body) != test.holds
        child, here = here, module.parent(here)
    return None


def loop_of(module: Module, node: ast.AST) -> ast.AST:
    """Return the innermost loop around a node in its function, or the function."""
    here = module.parent(node)
    kinds = (*_LOOPS, ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)
    while here is not None and not isinstance(here, kinds):
        here = module.parent(here)
    return here or module.tree


def _of_home(module: Module, home: ast.AST, sites: Sequence[Site], stops: Stops) -> Iterator[Step]:
    names = dict.fromkeys(name for site in sites for name in site.optimizers)
    for name in names:
        own = [site for site in sites if name in site.optimizers]
        test = own[0].test
        found = False
        for call in _step_calls(module, home, name):
            if branch_of(module, call, test) is False:
                continue
            statement = module.statement_of(call)
            usual = isinstance(statement, ast.Expr) and statement.value is call
            if not usual or call.args or call.keywords:
                message = f"{name}.step is called with a closure, or its result is used"
                stops.add(module, call, message, "GradScaler.step takes no closure")
                continue
            assert isinstance(statement, ast.Expr)
            if all(_precedes(module, statement, site) for site in own):
                continue  # without gradients: it has no effect
            if not any(_follows(module, statement, site) for site in own):
                message = f"there is no scaled loss before this step of {name}"
                stops.add(
                    module, call, message, "GradScaler.step would raise here: remove the step"
                )
                continue
            found = True
            open_ = branch_of(module, statement, test) is None
            yield Step(module, statement, name, test if open_ else None)
        if not found and not stops.refusals:
            stops.add(
                module,
                own[0].call.node,
                f"{name}.step() is not in the function that scales its loss",
                "call step where the loss is scaled, or write scaler.step, scaler.update by hand",
            )


def _step_calls(module: Module, home: ast.AST, name: str) -> Iterator[ast.Call]:
    for node in walk(home):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "step"
            and module.text(node.func.value) == name
            and (module.function_of(node) or module.tree) is home
        ):
            yield node


def _precedes(module: Module, statement: ast.stmt, site: Site) -> bool:
    """Whether a step runs once, after `zero_grad`, before the loop of a scaled loss."""
    loop, home = loop_of(module, site.node), loop_of(module, statement)
    block = block_of(module, statement)
    place = block.index(statement)
    cleared = place > 0 and ".zero_grad(" in module.text(block[place - 1])
    inside = loop is not home and any(node is loop for node in walk(home))
    return inside and cleared and statement.lineno < loop.lineno  # type: ignore[attr-defined]


def _follows(module: Module, statement: ast.stmt, site: Site) -> bool:
    """Whether a step follows a scaled loss in the same iteration."""
    loop = loop_of(module, statement)
    return statement.lineno > site.node.lineno and any(node is site.node for node in walk(loop))


def _order(steps: list[Step], sites: Sequence[Site], stops: Stops) -> None:
    """Find steps that share one update of the scale: adjacent steps of several optimizers.

    If an optimizer steps before the next loss is scaled, each step has its own update.
    """
    steps.sort(key=lambda step: step.node.lineno)
    if len({step.optimizer for step in steps}) < 2:
        return
    homes = {id(block_of(step.module, step.node)) for step in steps}
    names = [step.optimizer for step in steps]
    if len(homes) > 1 or len(set(names)) != len(names):
        if _are_separate(steps, sites):
            return
        stops.add(
            steps[0].module,
            steps[0].node,
            "several optimizers share one loss scale and do not all step once in the same block",
            "use one GradScaler per optimizer, or end every iteration with one scaler.update()",
        )
    for step in steps[:-1]:
        step.last = False


def _are_separate(steps: Sequence[Step], sites: Sequence[Site]) -> bool:
    """Whether no other optimizer has pending scaled gradients when an optimizer steps."""
    rows: list[Step | Site] = sorted((*steps, *sites), key=lambda row: row.node.lineno)
    if len({id(loop_of(row.module, row.node)) for row in rows}) > 1:
        return False
    waiting: set[str] = set()
    for row in rows:
        if isinstance(row, Step):
            if waiting != {row.optimizer}:
                return False
            waiting.clear()
        else:
            waiting |= set(row.optimizers)
    return not waiting


# ---- gradients that are read between the backward pass and the step


def _reads(
    step: Step,
    steps: Sequence[Step],
    home: ast.AST,
    sites: Sequence[Site],
    stops: Stops,
) -> None:
    module = step.module
    own = [site for site in sites if step.optimizer in site.optimizers]
    test = own[0].test
    block, place = _window(step, own)
    begin = max((_end(site.node) for site in own if site.node.lineno < step.node.lineno), default=0)
    begin = max(
        [begin, *(s.node.lineno for s in steps if s.optimizer == step.optimizer and s is not step
                  and s.node.lineno < step.node.lineno and branch_of(module, s.node, test) is None
                  and s.node in block)]
    )  # fmt: skip
    readers: list[ast.stmt] = []
    dropping = set(droppers(module, home))
    for statement in sorted({*readers_in(module, home), *dropping}, key=lambda s: s.lineno):
        if not begin < statement.lineno < step.node.lineno:
            continue
        if branch_of(module, statement, test) is False or _are_alternatives(
            module, statement, step
        ):
            continue
        if any(statement in walk(earlier) for earlier in block[:place]):
            readers.append(statement)
        elif statement not in dropping:
            bound = bound_of_norm(module, statement)
            if bound is not None and (test is None or branch_of(module, statement, test)):
                step.clips.append((statement, bound))
                continue
            stops.add(
                module,
                statement,
                "gradients are read or clipped after every backward pass, not once before the step",
                "move this next to the step: torch.amp unscales gradients once per step",
            )
    step.readers = readers
    if readers:
        inside = branch_of(module, step.node, test) is True and step.node in block
        step.unscale += _places(module, block, readers, test, inside=inside or test is None)


def _end(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno


def _window(step: Step, sites: Sequence[Site]) -> tuple[list[ast.stmt], int]:
    """Return the block of the step and the step's index in it.

    A branch that only distinguishes half precision counts as part of the enclosing block.
    """
    module, here = step.module, step.node
    statement: ast.stmt = here
    parent = module.parent(statement)
    test = sites[0].test
    while isinstance(parent, ast.If) and test is not None:
        if parent is not test.node and module.text(parent.test) != test.text:
            break
        statement, parent = parent, module.parent(parent)
    block = block_of(module, statement)
    if any(site.node in walk(statement) for site in sites) and statement is not here:
        block, statement = block_of(module, here), here
    return block, block.index(statement) + (statement is not here)


def _are_alternatives(module: Module, statement: ast.stmt, step: Step) -> bool:
    """Whether a statement and a step are in different branches of one condition."""
    here: ast.AST = statement
    while (parent := module.parent(here)) is not None:
        if isinstance(parent, ast.If):
            mine, other = (
                (parent.body, parent.orelse)
                if here in parent.body
                else (parent.orelse, parent.body)
            )
            if here in mine and any(step.node in walk(statement) for statement in other):
                return True
        here = parent
    return False


def _places(
    module: Module,
    block: list[ast.stmt],
    readers: Sequence[ast.stmt],
    test: Test | None,
    *,
    inside: bool,
) -> list[tuple[ast.stmt, bool]]:
    """Return the first statement of each branch that needs unscaled gradients."""
    children = [
        candidate for candidate in block if any(reader in walk(candidate) for reader in readers)
    ]
    if not children:
        return []
    first = children[0]
    if not isinstance(first, ast.If) or first in readers:
        return [(first, inside)]
    same = test is not None and module.text(first.test) == test.text
    if same and test is not None:
        branch = first.body if test.holds else first.orelse
        return _places(module, branch, readers, test, inside=True)
    if len(children) > 1:
        return [(first, inside)]
    return [
        *_places(module, first.body, readers, test, inside=inside),
        *_places(module, first.orelse, readers, test, inside=inside),
    ]
