"""CL810: the loss of a Paddle program is multiplied by a scale that nothing takes out again."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.frames.object_kinds import is_loss_name

_SCALE = re.compile(r"^(init_)?(loss_scal(e|ing)(_factor)?|scale_loss)$", re.I)
_SHOWS = re.compile(r"print|log|warn|info|debug", re.I)
_READS = re.compile(r"reader|dataset|data_?load", re.I)
_TRAINS = re.compile(r"optim|train|step|backward|minimi|engine|build", re.I)


def check(subject: Subject) -> Iterator[Finding]:
    """Find scales of losses that the rest of the program only tests or shows."""
    program = subject.program
    for module in program.modules:
        for node in module.nodes:
            scale = _factor(node, module)
            if scale is None or _is_used(scale, program) or _is_handed_on(scale.value, program):
                continue
            yield Finding(
                span=module.span(node),
                message=f"the loss is multiplied by {module.text(scale)}, and nothing divides the "
                "gradients by it: they are clipped and applied as they are",
                hint="divide the gradients by it before they are clipped",
            )


def _factor(node: ast.AST, module: Module) -> ast.Attribute | None:
    """Return the setting that a loss is multiplied by: `loss *= args.loss_scaling`."""
    match node:
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Mult(), value=ast.Attribute() as by):
            pass
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.BinOp(left=of, op=ast.Mult(), right=ast.Attribute() as by),
        ):
            if not isinstance(of, ast.Name) and not _is_of_loss(of):
                return None
        case _:
            return None
    return by if is_loss_name(name) and _SCALE.match(by.attr) else None


def _is_of_loss(node: ast.expr) -> bool:
    """Whether something is computed from a loss: `mean(cost)`."""
    return any(isinstance(each, ast.Name) and is_loss_name(each.id) for each in ast.walk(node))


def _is_used(scale: ast.Attribute, program: Program) -> bool:
    """Whether the setting is read elsewhere for more than a test or a line of text."""
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == scale.attr
        and not _only_tests_or_shows(node, module)
        and not _scales_too(node, module)
        for module in program.modules
        for node in module.nodes
    )


def _scales_too(node: ast.expr, module: Module) -> bool:
    """Whether the setting multiplies the loss of another branch."""
    statement = module.statement_of(node)
    return statement is not None and _factor(statement, module) is node


def _only_tests_or_shows(node: ast.AST, module: Module) -> bool:
    match module.enclosing(node, ast.stmt, ast.Compare, ast.Call):
        case ast.Compare():
            return True
        case ast.Call(func=function):
            return bool(_SHOWS.search(module.text(function)))
    return False


def _is_handed_on(namespace: ast.expr, program: Program) -> bool:
    """Whether code that is not given gets all settings, and may train with them."""
    text = ast.unparse(namespace)
    texts = {text, f"vars({text})", f"{text}.__dict__"}
    return any(
        not texts.isdisjoint(map(module.text, (*call.node.args, *_words(call.node))))
        and program.function(call) is None
        and program.constructor(call) is None
        and _TRAINS.search(module.text(call.node.func))
        and not _READS.search(module.text(call.node.func))
        for module in program.modules
        for call in module.calls
    )


def _words(call: ast.Call) -> list[ast.expr]:
    return [keyword.value for keyword in call.keywords]


RULE = Rule("CL810", check, hints=("scal",), needs_training=False)
