"""CL904: TF_ENABLE_AUTO_MIXED_PRECISION, which stock TensorFlow does not read."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.sources.subject import Subject

_VARIABLE = "TF_ENABLE_AUTO_MIXED_PRECISION"
_OFF = ("", "0", "false", "False")
_SETS = ("os.putenv", "os.environ.setdefault", "os.environ.__setitem__")
_MESSAGE = (
    f"{_VARIABLE} has no effect: TensorFlow as published does not read it, and trains in float32"
)
_HINT = (
    'set the policy in the program: tf.keras.mixed_precision.set_global_policy("mixed_float16"); '
    "only builds of a vendor may read the variable"
)


def check(subject: Subject) -> Iterator[Finding]:
    """Find where the variable is enabled: in Python code and for commands."""
    for module in subject.program.modules:
        for node in _python(module):
            yield Finding(span=module.span(node), message=_MESSAGE, hint=_HINT)
    for command in subject.commands:
        for fact in command.environment:
            if fact.expression == _VARIABLE and fact.known and str(fact.value) not in _OFF:
                for span in fact.places[:1]:
                    yield Finding(span=span, message=_MESSAGE, hint=_HINT)


def _python(module: Module) -> Iterator[ast.expr]:
    """Yield statements that enable it: os.environ[...] = "1", putenv, setdefault, update."""
    for node in module.every(ast.Assign):
        match node:
            case ast.Assign(targets=[ast.Subscript(owner, name) as target], value=value) if (
                _enables(name, value)
            ):
                if module.resolve(owner) == "os.environ" and not module.is_dead(node):
                    yield target
    for call in module.calls:
        match call.node.args:
            case [name, value] if call.name in _SETS and _enables(name, value):
                yield call.node


def _enables(name: ast.expr, value: ast.expr) -> bool:
    match name, value:
        case ast.Constant(word), ast.Constant(str(text)):
            return word == _VARIABLE and text not in _OFF
    return False


RULE = Rule("CL904", check, hints=(_VARIABLE,), needs_training=False)
