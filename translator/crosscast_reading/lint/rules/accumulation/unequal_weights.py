"""CL112: the micro-batches of a window have unequal weights."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.answers.loop import backward_of, eager_steps, known_word, own_windows
from crosscast_reading.lint.answers.reduction import reduction_of
from crosscast_reading.lint.answers.windows import ACCUMULATES, end_tests
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.accumulation._comm_hooks import hook_divisions, syncs_every_micro
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Loop, TrainingStep


def check(subject: Subject) -> Iterator[Finding]:
    """Find divisions of sums that continue to grow."""
    for step in eager_steps(subject):
        if not own_windows(step):
            continue
        yield from _short_slices(step)
        related = tuple(event.span for event in step.of("step")[:1])
        for module, call, length in hook_divisions(step.module.program):
            if syncs_every_micro(step):
                yield Finding(
                    span=module.span(call),
                    message=f"the hook divides the sum of all micro-batches so far by {length} in "
                    "every backward pass, so the first ones have the least weight",
                    hint="divide the loss, or enter no_sync for all micro-batches except the last",
                    related=related,
                )
        for node in _divided_sums(step):
            yield Finding(
                span=step.module.span(node),
                message="the gradients are divided after every micro-batch, so those of earlier "
                "micro-batches are divided repeatedly",
                hint="divide the loss, or the gradients once before the step",
                related=related,
            )


def _short_slices(step: TrainingStep) -> Iterator[Finding]:
    """Find slices of a batch whose mean losses are all weighted by the rows of a full slice."""
    for event in backward_of(step):
        match event.loops, known_word(event, "multiplied"):
            case (
                [
                    *_,
                    Loop(
                        role="micro",
                        node=ast.For(
                            target=ast.Name(id=first),
                            iter=ast.Call(func=ast.Name(id="range"), args=[_, ast.Call(), by]),
                        ),
                    ) as loop,
                ],
                tuple(factors),
            ):
                size = ast.unparse(by)
            case _:
                continue
        rest = f"{first}:{first} + {size}"
        body = [ast.unparse(part) for part in loop.node.body]
        divided = [e for e in step.of("divide_loss") if e.loops[-1:] == (loop,)]
        weights = {*factors, *(str(w) for e in divided if (w := known_word(e, "times")))}
        if weights != {size} or not any(rest in text for text in body):
            continue
        places = [e.span for e in divided]
        if not _asks_for_rest(step, size) and reduction_of(event) != "sum":
            yield Finding(
                span=places[0] if places else event.span,
                message=f"a last slice of fewer than {size} rows gets the weight of a full one",
                hint="multiply by the number of rows of the slice",
                related=(event.span,),
                severity=Severity.WARNING,
            )


def _asks_for_rest(step: TrainingStep, size: str) -> bool:
    """Whether the program looks at what is left over: `assert len(rows) % size == 0`."""
    return any(
        isinstance(node.op, ast.Mod) and ast.unparse(node.right) == size
        for node in step.module.every(ast.BinOp)
    )


def _divided_sums(step: TrainingStep) -> Iterator[ast.stmt]:
    """Yield `p.grad /= n` without a condition in the loop over micro-batches."""
    tests = end_tests(step)
    if step.loop is None or not tests:
        return
    module = step.module.owner_of(step.loop.node)
    for node in walk(step.loop.node):
        match node:
            case (
                ast.AugAssign(target=target, op=ast.Div(), value=by)
                | ast.Expr(ast.Call(func=ast.Attribute(attr="div_", value=target), args=[by]))
            ) as change:
                text = module.text(by)
                length = text in {test.steps_text for _, test in tests} or ACCUMULATES.search(text)
                if (
                    ".grad" in module.text(target)
                    and length
                    and not _conditional(change, step.loop.node, module)
                ):
                    yield change


def _conditional(node: ast.stmt, loop: ast.AST, module: Module) -> bool:
    """Whether a statement of a loop runs only under a condition, or when a function is called."""
    parent: ast.AST | None = node
    while parent is not None and parent is not loop:
        match parent:
            case ast.FunctionDef():
                return True
            case ast.If(test=test) if "grad" not in module.text(test):
                return True
        parent = module.parent(parent)
    return False


RULE = Rule("CL112", check, hints=("grad", "register_comm_hook", "backward"))
