"""CL904: TF_ENABLE_AUTO_MIXED_PRECISION, which stock TensorFlow does not read."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast.lint.rule import Finding, Rule
from crosscast.messages.diagnostics import Severity, Span
from crosscast.pysource.programs.module import Module
from crosscast.sources.files import kind_of
from crosscast.sources.subject import Subject

_VARIABLE = "TF_ENABLE_AUTO_MIXED_PRECISION"
_OFF = ("", "0", "false", "False")
_MESSAGE = (
    f"{_VARIABLE} has no effect: TensorFlow as published does not read it, and trains in float32"
)
_HINT = (
    'set the policy in the program: tf.keras.mixed_precision.set_global_policy("mixed_float16"); '
    "only builds of a vendor may read the variable"
)


def check(subject: Subject) -> Iterator[Finding]:
    """Find where the variable is enabled: in Python code and for commands."""
    if subject.program is not None:
        for module in subject.program.modules:
            if _VARIABLE in module.source.text:
                for node in _python(module):
                    yield Finding(span=module.span(node), message=_MESSAGE, hint=_HINT)
    scripts = {source.name for source in subject.sources if kind_of(source) == "shell"}
    seen: set[tuple[str, int]] = set()
    for command in subject.commands:
        for fact in command.environment:
            if fact.expression == _VARIABLE and fact.known and str(fact.value) not in _OFF:
                for span in fact.places[:1]:
                    if span.file in scripts and (span.file, span.line) not in seen:
                        seen.add((span.file, span.line))
                        yield _in_shell(span)


def _in_shell(span: Span) -> Finding:
    return Finding(span=span, message=_MESSAGE, hint=_HINT)


def _python(module: Module) -> Iterator[ast.expr]:
    """Yield statements that enable it: os.environ[...] = "1", putenv, setdefault, update."""
    for node in module.nodes:
        if isinstance(node, ast.Assign) and not module.is_dead(node):
            for target in node.targets:
                if (
                    isinstance(target, ast.Subscript)
                    and _is_variable(target.slice)
                    and module.resolve(target.value) == "os.environ"
                    and _on(node.value)
                ):
                    yield target
    for call in module.calls:
        arguments = call.node.args
        named = call.name in ("os.putenv", "os.environ.setdefault", "os.environ.__setitem__")
        if named and len(arguments) == 2 and _is_variable(arguments[0]) and _on(arguments[1]):
            yield call.node


def _is_variable(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == _VARIABLE


def _on(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value not in _OFF


RULE = Rule(
    code="CL904",
    name="tf-env-amp",
    topic="outdated",
    severity=Severity.WARNING,
    title="TF_ENABLE_AUTO_MIXED_PRECISION has no effect",
    why="The published builds of TensorFlow 2.5, 2.10, 2.15 and 2.21 do not contain the name of "
    "this variable: training silently runs in float32. Vendor builds may read it.",
    wrong="""\
import os

os.environ["TF_ENABLE_AUTO_MIXED_PRECISION"] = "1"

import tensorflow as tf

model = tf.keras.Sequential(
    [tf.keras.layers.Dense(64), tf.keras.layers.Dense(2, dtype="float32")]
)
model.compile(tf.keras.optimizers.Adam(1e-3), loss="mse")
model.fit(inputs, targets)
""",
    right="""\
import tensorflow as tf

tf.keras.mixed_precision.set_global_policy("mixed_float16")
model = tf.keras.Sequential(
    [tf.keras.layers.Dense(64), tf.keras.layers.Dense(2, dtype="float32")]
)
model.compile(tf.keras.optimizers.Adam(1e-3), loss="mse")
model.fit(inputs, targets)
""",
    check=check,
    hints=(_VARIABLE,),
    sources=("shared libraries of TensorFlow 2.5.3, 2.10.1, 2.15.1 and 2.21.0",),
    needs_training=False,
)
