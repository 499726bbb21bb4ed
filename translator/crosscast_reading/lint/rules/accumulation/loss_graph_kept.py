"""CL114: loss tensors are summed with their graphs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import eager_steps, known_word
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.answers.differentiated import loss_expression
from crosscast_reading.trainstep.events import Event, TrainingStep


def check(subject: Subject) -> Iterator[Finding]:
    """Find running sums of the tensor that backward was called on."""
    for step in eager_steps(subject):
        losses = {
            (event.module, name) for event in step.of("backward") for name in _differentiated(event)
        }
        for added in step.inside("sum_loss"):
            if known_word(added, "detached") is not False or added.context("no_grad"):
                continue
            name = _plain_name(added)
            if (added.module, name) not in losses or _is_used(added, step):
                continue
            yield Finding(
                span=added.span,
                message=f"{added.subject} keeps the graph of every {name}: it adds the tensor "
                "instead of its value",
                hint=f"add `{name}.item()` or `{name}.detach()`",
            )


def _differentiated(backward: Event) -> Iterator[str]:
    loss = loss_expression(backward)
    if isinstance(loss, ast.Name):
        yield loss.id


def _plain_name(added: Event) -> str:
    """Return the variable in an added expression: `loss` of `loss * n`."""
    text = str(known_word(added, "added"))
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return ""
    while isinstance(node, ast.BinOp):
        node = node.left if not isinstance(node.left, ast.Constant) else node.right
    return node.id if isinstance(node, ast.Name) else ""


def _is_used(added: Event, step: TrainingStep) -> bool:
    """Whether the sum is differentiated, or the variable has become a number."""
    name = _plain_name(added)
    function = added.module.function_of(added.node) or added.module.tree
    return any(_detaches(node, name, added.module, added.subject) for node in walk(function))


def _detaches(node: ast.AST, name: str, module: Module, total: str) -> bool:
    match node:
        case ast.Assign(targets=targets, value=value):
            ends = (".item()", ".detach()", ".data", ".numpy()", ".tolist()")
            return name in map(module.text, targets) and module.text(value).endswith(ends)
        case ast.Call(func=ast.Attribute(value=of, attr="detach_")):
            return module.text(of) in (name, total)
        case ast.Call(func=ast.Attribute(attr="backward")):
            return total in module.text(node)
    return False


RULE = Rule("CL114", check, hints=("+=", "append", "+ loss", "loss +"))
