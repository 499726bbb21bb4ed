"""CL606: gradients are summed over the processes instead of averaged."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import eager_steps
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event


def check(subject: Subject) -> Iterator[Finding]:
    """Find manual sums of gradients that are never divided."""
    for step in eager_steps(subject):
        if step.of("divide_loss"):
            continue
        for event in step.of("all_reduce"):
            if _sums(event) and not _divided(event):
                yield Finding(
                    span=event.span,
                    message="the gradients are summed over all processes instead of averaged",
                    hint="divide by the number of processes, or use ReduceOp.AVG",
                )
                break


def _sums(event: Event) -> bool:
    module = event.module
    match event.node:
        case ast.Call(args=[reduced, *more]) as node if ".grad" in module.text(reduced):
            operations = (*more[:1], *(each.value for each in node.keywords if each.arg == "op"))
            plain = module.call(node).name == "torch.distributed.all_reduce"
            return plain and all(module.text(each).endswith("SUM") for each in operations)
    return False


def _divided(event: Event) -> bool:
    """Whether the enclosing function divides or multiplies by anything except literals."""
    function = event.module.function_of(event.node) or event.module.tree
    for node in walk(function):
        match node:
            case ast.AugAssign(op=ast.Div() | ast.Mult()) | ast.BinOp(op=ast.Div()):
                return True
            case ast.Call(func=ast.Attribute(attr="div_" | "div" | "mul_" | "true_divide")):
                return True
    return False


RULE = Rule("CL606", check, hints=("all_reduce",))
