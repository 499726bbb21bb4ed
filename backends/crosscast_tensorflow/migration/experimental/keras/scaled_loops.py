"""Loops with manual scaling: get_scaled_loss, get_unscaled_gradients, apply_gradients."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Refusal
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.readers.python.conditions import branches
from crosscast_tensorflow.migration.experimental.edits import raw, remove, with_attribute
from crosscast_tensorflow.migration.experimental.keras.program import strategy_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program

SCALED, UNSCALED, APPLIED = "get_scaled_loss", "get_unscaled_gradients", "apply_gradients"
_HINT = (
    "scale with optimizer.scale_loss(loss), and pass the gradients to apply_gradients as they are: "
    "it unscales, checks and skips. Gradients of a scale that is known are divided by "
    "optimizer.scale_loss(1.0); clip with global_clipnorm=... of the inner optimizer"
)


@dataclass(slots=True)
class ScaledLoop:
    """The three calls of one optimizer in one function."""

    module: Module
    function: Function | None
    owner: str
    """Source text of the optimizer."""
    calls: dict[str, list[Call]] = field(
        default_factory=lambda: {SCALED: [], UNSCALED: [], APPLIED: []}
    )
    edits: list[Edit] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)

    @property
    def first(self) -> Call:
        """Its first call of a method that Keras 3 does not have."""
        return (self.calls[SCALED] or self.calls[UNSCALED])[0]

    def refuse(self, node: ast.AST, message: str) -> None:
        """Add a reason why the loop is not changed."""
        self.refusals.append(Refusal(span=self.module.span(node), message=message, hint=_HINT))


def scaled_loops(program: Program) -> list[ScaledLoop]:
    """Return the loops that scale with the methods of Keras 2, with edits or refusals."""
    loops: dict[tuple[int, int, str], ScaledLoop] = {}
    for module in program.modules:
        if SCALED not in module.source.text and UNSCALED not in module.source.text:
            continue
        for call in module.calls:
            if call.receiver is None or module.is_dead(call.node):
                continue
            if call.method not in (SCALED, UNSCALED, APPLIED) or program.function(call) is not None:
                continue
            if any(name.startswith("tf_keras.") for name in call.names):
                continue
            function, owner = module.function_of(call.node), module.text(call.receiver)
            loop = loops.setdefault(
                (id(module), id(function), owner), ScaledLoop(module, function, owner)
            )
            loop.calls[call.method].append(call)
    settled = [loop for loop in loops.values() if loop.calls[SCALED] or loop.calls[UNSCALED]]
    several = strategy_of(program) is not None
    for loop in settled:
        _settle(loop, several=several)
    return settled


def _settle(loop: ScaledLoop, *, several: bool) -> None:
    """Find the edits of a loop, or the reason against them."""
    missing = [name for name, calls in loop.calls.items() if not calls]
    if missing:
        return loop.refuse(
            loop.first.node,
            f"{' and '.join(missing)} of {loop.owner} is not in the function of this call: Keras 3 "
            "unscales in apply_gradients, which must receive the scaled gradients",
        )
    if several:
        return loop.refuse(
            loop.first.node,
            "the LossScaleOptimizer of Keras 3 looks for overflow in one of the replicas only",
        )
    every = [call for calls in loop.calls.values() for call in calls]
    around = [
        {branch.text for branch in branches(call.node, loop.module, callers=False)}
        for call in every
    ]
    if any(conditions != around[0] for conditions in around):
        return loop.refuse(
            loop.first.node,
            f"{loop.owner} scales under other conditions than it applies the gradients, and Keras "
            "3 unscales in every apply_gradients",
        )
    for call in every:
        if len(call.node.args) != 1 or call.node.keywords:
            return loop.refuse(call.node, f"{call.method} has other arguments than in Keras 3")
    _edit(loop)
    return None


def _edit(loop: ScaledLoop) -> None:
    applied = [_gradients(call) for call in loop.calls[APPLIED]]
    unscaled: set[str] = set()
    for call in loop.calls[UNSCALED]:
        if any(call.node is gradients for gradients in applied):
            given = raw(loop.module, call.node.args[0])
            loop.edits.append(replace_node(loop.module, call.node, given))
            unscaled.add(loop.module.text(call.node))
            continue
        name = _assigned(call, loop, applied)
        if not name:
            loop.edits.clear()
            return loop.refuse(
                call.node,
                "the unscaled gradients are used for more than apply_gradients, and in Keras 3 "
                "they exist only there",
            )
        unscaled.add(name)
    for call, gradients in zip(loop.calls[APPLIED], applied, strict=True):
        if gradients is None or loop.module.text(gradients) not in unscaled:
            loop.edits.clear()
            return loop.refuse(
                call.node, "these gradients are perhaps not those that were unscaled"
            )
    for call in loop.calls[SCALED]:
        function = call.node.func
        assert isinstance(function, ast.Attribute)
        loop.edits.append(with_attribute(loop.module, function, "scale_loss"))
    return None


def _gradients(call: Call) -> ast.expr | None:
    """Return the gradients in `apply_gradients(zip(gradients, variables))`."""
    pairs: ast.expr = call.node.args[0]
    match pairs:
        case ast.Call(func=ast.Name(id="list"), args=[inner], keywords=[]):
            pairs = inner
    match pairs:
        case ast.Call(func=ast.Name(id="zip"), args=[gradients, _], keywords=[]):
            return gradients
    return None


def _assigned(call: Call, loop: ScaledLoop, applied: list[ast.expr | None]) -> str:
    """Add the edit of `name = get_unscaled_gradients(...)`; return the name.

    Empty if anything but `apply_gradients` may read it.
    """
    module, statement = loop.module, loop.module.parent(call.node)
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            pass
        case _:
            return ""
    given = call.node.args[0]
    own = set(map(id, ast.walk(statement)))
    reads = [node for node in _reads(name, loop) if id(node) not in own]
    after = all((n.lineno, n.col_offset) > (statement.lineno, 0) for n in reads)
    if not after or any(not any(n is each for each in applied) for n in reads):
        return ""
    if isinstance(given, ast.Name) and given.id == name:
        gone = remove(module, statement)
        if gone is None:
            return ""
        loop.edits.append(gone)
    else:
        loop.edits.append(replace_node(module, call.node, raw(module, given)))
    return name


def _reads(name: str, loop: ScaledLoop) -> Iterator[ast.Name]:
    """Yield where a name is read, in the function of a loop or in functions inside of it."""
    for node in ast.walk(loop.function or loop.module.tree):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            yield node
