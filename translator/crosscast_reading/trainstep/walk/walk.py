"""Walk through a program in the order of execution and note what matters to training."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import replace

from crosscast_reading.pysource.programs.module import Function, Module
from crosscast_reading.trainstep.events import Context
from crosscast_reading.trainstep.frames.expression_keys import key_of
from crosscast_reading.trainstep.frames.frame import CallFrame
from crosscast_reading.trainstep.frames.loops import (
    AnyLoop,
    LoopHead,
    counted_to,
    head_of,
    rounds_in_strides,
)
from crosscast_reading.trainstep.frames.losses import Division, join, loss_of
from crosscast_reading.trainstep.walk import (
    actions,
    assignments,
    averages,
    branches,
    clipping_by_hand,
    inline,
    unfollowed,
)
from crosscast_reading.trainstep.walk.conditions import PathCondition, settled
from crosscast_reading.trainstep.walk.contexts import contexts_of
from crosscast_reading.trainstep.walk.walker import Walker

MAX_STATEMENTS = 60_000


class ProgramWalker(Walker):
    """One walk from one function (or module body)."""

    def divided(self, division: Division) -> None:
        """Note a division of a loss, once."""
        if id(division.node) not in self.divisions:
            event = self.emit(
                "divide_loss", division.node, division.frame, detail=assignments.by(division)
            )
            if event is not None:
                self.divisions[id(division.node)] = event

    # ---- statements

    def block(self, body: Sequence[ast.stmt], frame: CallFrame) -> None:
        """Walk through statements; what follows a conditional `continue` is under a condition."""
        added = 0
        dead = frame.module.dead
        for statement in body:
            self.statements += 1
            if statement in dead or self.statements > MAX_STATEMENTS:
                continue
            added += self.statement(statement, frame)
        if added:
            del self.conditions[-added:]

    def statement(self, node: ast.stmt, frame: CallFrame) -> int:
        """Walk through one statement; return the number of conditions for the following ones."""
        match node:
            case ast.If():
                return self._if(node, frame)
            case ast.For() | ast.AsyncFor() | ast.While():
                self._loop(node, frame)
            case ast.With() | ast.AsyncWith():
                self._with(node, frame)
            case ast.Try() | ast.TryStar():
                branches.attempt(self, node, frame)
            case ast.Match():
                branches.match(self, node, frame)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                pass
            case ast.Return():
                self.expression(node, frame)
                if node.value is not None:
                    frame.returned.append(loss_of(node.value, frame))
                self._leave(node, frame)
            case ast.Break() | ast.Continue() | ast.Raise():
                self._leave(node, frame)
            case _:
                if averages.averaged(self, node, frame):
                    return 0
                if clipping_by_hand.written(self, node, frame):
                    return 0
                self.expression(node, frame)
                assignments.assigned(self, node, frame)
                unfollowed.assigned(self, node, frame)
        return 0

    def expression(self, node: ast.AST, frame: CallFrame) -> None:
        """Walk through the calls of a statement, innermost first."""
        for call in self.index.modules[frame.module].by_statement.get(node, ()):
            self.call(call, node, frame)

    def call(self, call: ast.Call, around: ast.AST, frame: CallFrame) -> None:
        """Walk through one call."""
        more = _short_circuits(call, around, frame, self.heads)
        self.conditions += more
        actions.act(self, call, frame)
        if more:
            del self.conditions[-len(more) :]

    def _leave(self, node: ast.stmt, frame: CallFrame) -> None:
        if not self.heads or isinstance(node, ast.Raise):
            return
        if isinstance(node, ast.Return) and not self._loop_of(frame):
            return  # leaves a function that the loop calls
        self.emit("leave", node, frame)

    def _if(self, node: ast.If, frame: CallFrame) -> int:
        self.expression(node, frame)
        value = settled(node.test, frame)
        state = dict(frame.losses)
        if value is not False:
            self._under(node.test, True, node.body, frame)
        after = frame.losses
        frame.losses = state
        if node.orelse and value is not True:
            self._under(node.test, False, node.orelse, frame)
        frame.losses = _joined(after, frame.losses)
        in_loop = self._loop_of(frame)
        body_leaves, else_leaves = _leaves(node.body, in_loop), _leaves(node.orelse, in_loop)
        if body_leaves != else_leaves:
            self.conditions.append(PathCondition(node.test, else_leaves, frame, self.heads))
            return 1
        return 0

    def _under(
        self, test: ast.expr, holds: bool, body: Sequence[ast.stmt], frame: CallFrame
    ) -> None:
        if _is_main(test):
            self.block(body, frame)
            return
        self.conditions.append(PathCondition(test, holds, frame, self.heads))
        self.block(body, frame)
        self.conditions.pop()

    def _loop_of(self, frame: CallFrame) -> bool:
        return bool(self.heads) and self.heads[-1].frame is frame

    def _loop(self, node: AnyLoop, frame: CallFrame) -> None:
        self.expression(node, frame)
        head = head_of(node, frame)
        if not isinstance(node, ast.While):
            assignments.looped(node.target, node.iter, frame)
        for counter in head.counters:
            if counter.whole and counter.period is not None:
                self.lengths[id(head.loop)] = frame.value(counter.period)
                self.periods[id(head.loop)] = key_of(counter.period, frame)
        limit = counted_to(node)
        if limit is not None:
            self.lengths[id(head.loop)] = frame.value(limit)
        strided = rounds_in_strides(node, frame)
        if strided is not None:
            self.lengths[id(head.loop)] = strided
        self.heads.append(head)
        entered = len(self.contexts)
        inline.generator(self, node, frame)
        self.block(node.body, frame)
        del self.contexts[entered:]
        self.heads.pop()
        self.block(node.orelse, frame)

    def _with(self, node: ast.With | ast.AsyncWith, frame: CallFrame) -> None:
        self.expression(node, frame)
        entered: list[Context] = []
        before = len(self.contexts)
        self.blocks.append(len(self.conditions))
        for item in node.items:
            contexts = contexts_of(item.context_expr, frame, self.heads)
            self.contexts += contexts
            entered += contexts
            self.frame_of.update((context.node, frame) for context in contexts)
            assignments.entered(item, contexts, frame)
        self.block(node.body, frame)
        self.blocks.pop()
        del self.contexts[before:]
        for context in entered:
            if context.kind == "scale_loss":
                actions.leave_scale_loss(self, node, context, frame)

    def enter(self, node: ast.expr, frame: CallFrame) -> None:
        """Enter a context for the rest of the `with` block (`stack.enter_context`)."""
        depth = self.blocks[-1] if self.blocks else 0
        guards = tuple(c.guard() for c in self.conditions[depth:])
        for context in contexts_of(node, frame, self.heads):
            self.contexts.append(replace(context, guards=(*guards, *context.guards)))

    # ---- functions

    def run(self, module: Module, function: Function | None, frame: CallFrame) -> None:
        """Walk through a function from its start."""
        self.walked.add(module.tree if function is None else function)
        if function is None:
            self.block(module.tree.body, frame)
            return
        self.parts.setdefault(f"{module.source.name}:{module.qualname(function)}")
        decorated = [
            c
            for decorator in function.decorator_list
            for c in contexts_of(decorator, frame, self.heads)
        ]
        self.contexts += decorated
        self.running.append(function)
        self.block(function.body, frame)
        self.running.pop()
        if decorated:
            del self.contexts[-len(decorated) :]


def _is_main(test: ast.expr) -> bool:
    """Whether it is `__name__ == "__main__"`."""
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.left, ast.Name)
        and test.left.id == "__name__"
    )


def _joined(first: dict[str, object], second: dict[str, object]) -> dict[str, object]:
    """Return the facts known of losses where two branches meet."""
    if first is second or not first:
        return second
    both = dict(second)
    for name, loss in first.items():
        other = both.get(name)
        if other is None:
            both[name] = loss
        elif other is not loss:
            both[name] = join(loss, other)
    return both


def _leaves(body: Sequence[ast.stmt], in_loop: bool) -> bool:
    """Whether the rest of the round (or of a function without a loop) is skipped."""
    for statement in body:
        if isinstance(statement, ast.Continue):
            return True
        if isinstance(statement, ast.Return) and not in_loop:
            return True
        if isinstance(statement, ast.If) and all(
            _leaves(b, in_loop) for b in (statement.body, statement.orelse)
        ):
            return True
        if isinstance(statement, ast.With) and _leaves(statement.body, in_loop):
            return True
    return False


def _short_circuits(
    call: ast.Call, around: ast.AST, frame: CallFrame, heads: Iterable[LoopHead]
) -> list[PathCondition]:
    """Return the conditions within an expression: `scheduler and scheduler.step()`."""
    conditions: list[PathCondition] = []
    parents = frame.module.parents
    child: ast.AST = call
    here = parents.get(call)
    while here is not None and here is not around:
        if isinstance(here, ast.BoolOp):
            holds = isinstance(here.op, ast.And)
            for operand in here.values:
                if operand is child:
                    break
                conditions.append(PathCondition(operand, holds, frame, tuple(heads)))
        elif isinstance(here, ast.IfExp) and child is not here.test:
            conditions.append(PathCondition(here.test, child is here.body, frame, tuple(heads)))
        child, here = here, parents.get(here)
    conditions.reverse()
    return conditions
