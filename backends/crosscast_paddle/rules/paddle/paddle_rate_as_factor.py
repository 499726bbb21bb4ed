"""CL813: an absolute rate is written where Paddle expects a factor of the optimizer's rate."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.names.containers import chase
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.readers.python.library_calls import matching, plain, value_of
from crosscast_reading.sources.subject import Subject

_OPTIMIZERS = re.compile(r"paddle\.optimizer\.(?!lr\.)[A-Z]\w+")


def check(subject: Subject) -> Iterator[Finding]:
    """Find factors of parameters that are made of the setting which the optimizer has as rate."""
    program = subject.program
    rates = _rates(program)
    for module in program.modules if rates else ():
        for node in module.every(ast.Assign):
            if not any(_is_factor(target) for target in node.targets):
                continue
            for value, where in chase(node.value, module):
                settings = [word for word in _numerator(value) if word in rates]
                if settings:
                    made = rates[settings[0]]
                    yield Finding(
                        span=module.span(node),
                        message=f"the rate of the optimizer, {settings[0]}, is multiplied by "
                        f"{where.text(value)}, which is a rate itself: the product is far too "
                        "small",
                        hint=f"write a factor, without {settings[0]}, or use "
                        "`optimizer.set_lr(rate)`",
                        related=(made.module.span(made.node),),
                    )
                    break


def _rates(program: Program) -> dict[str, Call]:
    """Return the settings that optimizers have as their rates: `learning_rate` of `args.…`."""
    by_setting: dict[str, Call] = {}
    for _name, call in matching(program, _OPTIMIZERS):
        node = call.bound().get("learning_rate")
        if isinstance(node, ast.Attribute) and plain(value_of(node, call.module)) != 1:
            by_setting.setdefault(node.attr, call)
    return by_setting


def _is_factor(node: ast.expr) -> bool:
    """Whether it is `parameter.optimize_attr["learning_rate"]`."""
    match node:
        case ast.Subscript(
            value=ast.Attribute(attr="optimize_attr"), slice=ast.Constant(value="learning_rate")
        ):
            return True
    return False


def _numerator(node: ast.expr) -> list[str]:
    """Return the settings that a product is made of; none where something divides it."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return [*_numerator(left), *_numerator(right)]
        case ast.Attribute():
            return [identifier(node)]
    return []


RULE = Rule("CL813", check, hints=("optimize_attr",), needs_training=False)
