"""CL722: a policy is created, but never set."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.readers.python.library_calls import text_value
from crosscast_reading.readers.python.module_words import words_of
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.answers.keras import program_of
from crosscast_tensorflow.reading.keras import policy_calls

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call

_SETS = re.compile(
    r"set_\w{0,60}(policy|floatx)|dtype_policy|policy_scope|_(set|with|use)_policy", re.I
)


def check(subject: Subject) -> Iterator[Finding]:
    """Find policies that go nowhere, in programs that set none."""
    program = program_of(subject)
    if program is None:
        return
    unused = [call for call in policy_calls(program) if _is_half(call) and _is_unused(call)]
    if not unused:
        return
    if any(_SETS.search(word) for module in program.modules for word in words_of(module)):
        return
    for call in unused:
        yield Finding(
            span=call.module.span(call.node),
            message="this policy is created but never set: layers compute in float32",
            hint="pass it to tf.keras.mixed_precision.set_global_policy before the model is built",
        )


def _is_half(call: Call) -> bool:
    return text_value(call.argument("name")).startswith("mixed_")


def _is_unused(call: Call) -> bool:
    """Whether nothing reads what a call returns."""
    module = call.module
    match module.parent(call.node):
        case ast.Expr():
            return True
        case ast.Assign(targets=[ast.Name(id=name)]):
            around: ast.AST = module.function_of(call.node) or module.tree
            return not any(
                isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
                for node in walk(around)
            )
    return False


RULE = Rule("CL722", check, hints=("Policy(",))
