"""CL304: clipped gradients are computed and discarded."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.clipping._lost_clips import lost_clips
from crosscast_reading.pysource.libraries.roles import has_role
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_reading.sources.subject import Subject

_RIGHT = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
optimizer = tf.keras.optimizers.SGD(0.1)
loss_function = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
for inputs, targets in dataset:
    with tf.GradientTape() as tape:
        loss = loss_function(targets, model(inputs))
    gradients = tape.gradient(loss, model.trainable_variables)
    clipped, norm = tf.clip_by_global_norm(gradients, 1.0)
    optimizer.apply_gradients(zip(clipped, model.trainable_variables))
"""


def check(subject: Subject) -> Iterator[Finding]:
    """Find unused results of clipping, for gradients that are applied."""
    program = subject.program
    for span, bound, line in lost_clips(program):
        yield Finding(
            span=span,
            message=f"nothing is clipped: the scaled gradients are bound to {bound}, which "
            "nothing reads, and those of the parameters stay as they are",
            hint="change them in place, or assign them to `parameter.grad`",
            related=(line,) if line is not None else (),
        )
    for module in program.modules:
        for call in module.calls:
            names = [canonical(name) for name in call.names]
            if not names or not all(has_role(name, "clips_a_copy") for name in names):
                continue
            if "grad" not in module.text(call.node).lower() and "norm" not in call.method:
                continue
            name = _kept_in(call)
            if name is None or _is_read(name, call):
                continue
            yield Finding(
                span=module.span(call.node),
                message=f"the clipped gradients in {name} are never used"
                if name
                else "the clipped gradients are not assigned to a variable",
                hint="apply the returned gradients",
            )


def _kept_in(call: Call) -> str | None:
    """Return the variable assigned the gradients; empty if none, None for other uses."""
    match call.module.parent(call.node):
        case ast.Expr():
            return ""
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name
        case ast.Assign(targets=[ast.Tuple(elts=[ast.Name(id=name), *_])]):
            return name
    return None


def _is_read(name: str, call: Call) -> bool:
    """Whether the variable is read while it may contain the clipped gradients."""
    module = call.module
    scope = module.function_of(call.node) or module.tree
    within = {id(child) for child in walk(call.node)}
    statement = module.statement_of(call.node)
    assert statement is not None
    loop = module.enclosing(call.node, ast.For, ast.While)
    for node in walk(scope):
        if not isinstance(node, ast.Name) or node.id != name or not isinstance(node.ctx, ast.Load):
            continue
        if id(node) in within:
            continue
        if loop is not None or node.lineno > statement.lineno:
            return True
    return False


RULE = Rule(
    code="CL304",
    name="clip-not-applied",
    topic="clipping",
    severity=Severity.ERROR,
    title="Clipped gradients are discarded",
    why="TensorFlow's clipping functions return new tensors and do not change their arguments. "
    "The update uses the unclipped gradients, so clipping has no effect. The same happens in clips "
    "written by hand that bind `gradient * factor` to the variable of a loop. In static graphs of "
    "Paddle, `minimize` adds the clipping that is set before it; later calls change nothing.",
    wrong=_RIGHT.replace("zip(clipped,", "zip(gradients,"),
    right=_RIGHT,
    check=check,
    hints=("clip",),
    sources=(
        "TensorFlow docs, tf.clip_by_global_norm",
        "Paddle 1.8, fluid/clip.py: set_gradient_clip, append_gradient_clip_ops",
    ),
)
