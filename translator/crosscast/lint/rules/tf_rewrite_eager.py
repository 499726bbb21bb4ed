"""CL719: graphs are rewritten to float16, but the training step is none."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.lint.rule import Finding, Rule
from crosscast.lint.rules._examples import changed
from crosscast.lint.rules._keras import compiling_names, program_of, words_of
from crosscast.messages.diagnostics import Severity
from crosscast.pysource.syntax.nodes import identifier
from crosscast.readers.python.library_calls import calls_of, last
from crosscast.readers.tensorflow.rewrite import rewrites_by_call
from crosscast.sources.subject import Subject

if TYPE_CHECKING:
    from crosscast.pysource.programs.call import Call
    from crosscast.pysource.programs.module import Function, Module
    from crosscast.pysource.programs.program import Program

_GRAPHS = frozenset(
    {
        *("Session", "Estimator", "estimator", "Graph", "v1", "contrib", "placeholder", "minimize"),
        *("disable_eager_execution", "disable_v2_behavior", "compile", "fit", "fit_generator"),
        *("train_on_batch", "defun", "wrap_function", "autograph", "get_concrete_function"),
        *("def_function", "jit", "import_module"),
    }
)
"""Names in programs of which something may run as a graph."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find rewrites in programs whose tapes all run in a plain loop."""
    program = program_of(subject)
    if program is None:
        return
    rewrites = list(rewrites_by_call(program))
    if not rewrites:
        return
    if any(word in _GRAPHS for module in program.modules for word in words_of(module)):
        return
    tapes = [call for name, call in calls_of(program) if last(name) == "GradientTape"]
    if not tapes or not all(_is_eager(tape, program) for tape in tapes):
        return
    if any(_compiles(program, tapes)):
        return
    for cast in rewrites:
        yield Finding(
            span=cast.module.span(cast.node),
            message="only graphs are rewritten to float16, but the training step is no "
            "tf.function: it runs in float32",
            hint="decorate the training step with @tf.function",
            related=(tapes[0].module.span(tapes[0].node),),
        )


def _is_eager(tape: Call, program: Program) -> bool:
    """Whether a loop surely runs a tape, or a function that has it, without a graph."""
    module = tape.module
    function = module.function_of(tape.node)
    if module.enclosing(tape.node, ast.For, ast.While) is not None:
        return function is None or _is_plain(function, module, program)
    if function is None or not _is_plain(function, module, program):
        return False
    sites = program.sites(module, function)
    return any(site.module.enclosing(site.node, ast.For, ast.While) for site in sites)


def _compiles(program: Program, tapes: list[Call]) -> Iterator[bool]:
    """Yield for every use of `tf.function` whether a tape may run in it."""
    around = _callers(program, tapes)
    for node, module in compiling_names(program):
        parent = module.parent(node)
        decorated = module.parent(parent) if isinstance(parent, ast.Call) else parent
        own = isinstance(decorated, ast.FunctionDef) and (
            node in decorated.decorator_list or parent in decorated.decorator_list
        )
        yield not own or decorated in around


def _callers(program: Program, tapes: list[Call]) -> set[Function]:
    """Return the functions that have a tape, and all that call one of them."""
    found: set[Function] = set()
    queue = [(tape.module, tape.module.function_of(tape.node)) for tape in tapes]
    while queue:
        module, function = queue.pop()
        if function is None or function in found:
            continue
        found.add(function)
        queue += [
            (site.module, site.module.function_of(site.node))
            for site in program.sites(module, function)
        ]
    return found


def _is_plain(function: Function, module: Module, program: Program) -> bool:
    """Whether nothing wraps a function: it is only called."""
    if function.decorator_list or module.class_of(function) is not None:
        return False
    if module.function_of(function) is not None:
        return False
    called = {call.node.func for call in program.calls()}
    return not any(
        identifier(node) == function.name and isinstance(node.ctx, ast.Load) and node not in called
        for each in program.modules
        for node in each.nodes
        if isinstance(node, ast.Name | ast.Attribute)
    )


_RIGHT = """\
import tensorflow as tf

tf.config.optimizer.set_experimental_options({"auto_mixed_precision": True})
model = tf.keras.Sequential([tf.keras.layers.Dense(64), tf.keras.layers.Dense(2)])
optimizer = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.Adam(1e-3))


@tf.function
def train_step(inputs, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(inputs, training=True) - targets))
        scaled = optimizer.get_scaled_loss(loss)
    gradients = tape.gradient(scaled, model.trainable_variables)
    gradients = optimizer.get_unscaled_gradients(gradients)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for inputs, targets in dataset:
    train_step(inputs, targets)
"""

RULE = Rule(
    code="CL719",
    name="tf-rewrite-eager",
    topic="keras",
    severity=Severity.WARNING,
    title="The graph rewrite without a graph",
    why="`auto_mixed_precision` and `enable_mixed_precision_graph_rewrite` change graphs before "
    "they run. A training step that is neither a `tf.function` nor part of `fit` executes its "
    "operations one by one, in float32: only the loss scale is left of mixed precision.",
    wrong=changed(_RIGHT, ("@tf.function\n", "")),
    right=_RIGHT,
    check=check,
    hints=("auto_mixed_precision", "enable_mixed_precision_graph_rewrite"),
    sources=("TensorFlow 2.15, core/grappler/optimizers/auto_mixed_precision.cc",),
)
