"""CM203: TensorFlow's graph rewrite to a Keras policy."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast.messages.diagnostics import Span
from crosscast_migrate.codemod import Change, Codemod, Example, Outcome, Refusal
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.readers.python.library_calls import calls_of, last
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.migration.experimental.keras.compiled_models import fixed_scale
from crosscast_tensorflow.migration.experimental.keras.edits import raw, remove
from crosscast_tensorflow.migration.experimental.keras.launch import by_shell
from crosscast_tensorflow.migration.experimental.keras.loss_scales import Scale, scale_of
from crosscast_tensorflow.migration.experimental.keras.obstacles import obstacles
from crosscast_tensorflow.migration.experimental.keras.policy_place import policy_edit
from crosscast_tensorflow.migration.experimental.keras.program import (
    compiles,
    is_keras_optimizer,
    maker_of,
    open_call,
    own_choice,
)
from crosscast_tensorflow.migration.experimental.keras.rewrite_requests import (
    GRAPHS,
    RewriteRequest,
    by_option,
    by_session,
    by_variable,
    graph_program,
    of_graphs,
    policy_request,
    refuse,
)
from crosscast_tensorflow.migration.experimental.keras.scaled_loop import SCALED
from crosscast_tensorflow.reading.keras import policy_sites

_CALL = "enable_mixed_precision_graph_rewrite"
_POLICY = 'keras.mixed_precision.set_global_policy("mixed_float16")'
_NOTES = {
    "call": "the rewrite selected dtypes by operation, the policy by layer: set "
    'dtype="float32" for the last layer and for a softmax; the loss scale of Keras 3 has no '
    "minimum (the rewrite: 1)",
    "variable": "published builds of TensorFlow never read the variable: this program trained in "
    "float32 with them and now trains in mixed float16 with a scaled loss; set "
    'dtype="float32" for the last layer and for a softmax',
    "option": "the option cast but did not scale the loss, compile now does both; set "
    'dtype="float32" for the last layer and for a softmax',
}


def run(subject: Subject) -> Iterator[Outcome]:
    """Change all requests for the rewrite, or none."""
    program = subject.program
    if not program.modules:
        yield from (r for r in by_shell(subject, program) if isinstance(r, Refusal))
        return
    found: list[RewriteRequest | Refusal] = [*by_variable(program), *by_option(program)]
    found += by_session(program)
    found += _by_call(program)
    if all(isinstance(rewrite, RewriteRequest) for rewrite in found):
        found += by_shell(subject, program)
    if not found:
        return
    refusals = [refusal for refusal in found if isinstance(refusal, Refusal)]
    rewrites = [rewrite for rewrite in found if isinstance(rewrite, RewriteRequest)]
    if rewrites:
        refusals += _obstacles(subject, program, rewrites)
    edits: list[Edit] = []
    if not refusals:
        for rewrite in rewrites:
            place = policy_edit(rewrite.request, program)
            if isinstance(place, Refusal):
                refusals.append(place)
            else:
                edits += [*rewrite.edits, place]
    if refusals:
        yield from dict.fromkeys(refusals)
        return
    request = rewrites[0].request
    yield Change(
        span=request.module.span(request.node)
        if getattr(request.node, "lineno", 0)
        else Span(request.module.source.name, 1, 1, None, ""),
        message="a Keras policy, set before the model is built, under which compile scales the "
        "loss",
        edits=tuple(dict.fromkeys(edits)),
        note=" ".join(dict.fromkeys(_NOTES[rewrite.by] for rewrite in rewrites)),
    )


def _obstacles(
    subject: Subject, program: Program, rewrites: list[RewriteRequest]
) -> Iterator[Refusal]:
    """Yield why the program cannot use a policy instead."""
    graph = graph_program(program)
    if graph is not None:
        yield graph
        return
    yield from obstacles(subject, program, scales=True)
    request = rewrites[0].request
    for site in policy_sites(program):
        yield refuse(
            site.module,
            site.node,
            "the program sets a policy in addition to the graph rewrite",
            "remove one of them: the policy",
        )
        return
    loops = any(last(name) in ("GradientTape", "gradients") for name, _ in calls_of(program))
    scaled = any(SCALED in module.source.text for module in program.modules)
    if loops and not scaled:
        yield refuse(
            request.module,
            request.node,
            "the training loop does not scale its loss, and a Keras policy does not scale it "
            "either",
            f"write {_POLICY} before the model is built, wrap the optimizer in "
            "LossScaleOptimizer and scale the loss with scale_loss",
        )
    elif not loops and not compiles(program):
        yield refuse(
            request.module,
            request.node,
            "the given files do not show how the model is trained",
            f"write {_POLICY} before the model is built",
        )


def _by_call(program: Program) -> Iterator[RewriteRequest | Refusal]:
    """Yield the calls that wrap an optimizer."""
    done: set[int] = set()
    for name, call in calls_of(program):
        if last(name) != _CALL or id(call.node) in done:
            continue
        done.add(id(call.node))
        if own_choice(call.module, call.node, "set_global_policy"):
            continue
        yield _wrapped(call, program)


def _wrapped(call: Call, program: Program) -> RewriteRequest | Refusal:
    module, node = call.module, call.node
    given = dict(zip(("opt", "loss_scale"), node.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    inner = given.get("opt")
    scale = scale_of(given.get("loss_scale"), module)
    if open_call(node) or inner is None or scale is None or scale.kind == "none":
        return refuse(
            module,
            node,
            "the loss scale of the graph rewrite is not certain",
            f"write {_POLICY} before the model is built; compile scales dynamically, and "
            "loss_scale_factor of the optimizer is a fixed scale",
        )
    maker = maker_of(inner, module)
    if old := of_graphs(maker):
        return refuse(
            module,
            node,
            f"{module.text(inner)} is a {old}: neither Keras 3 nor its policies support graphs of "
            "TensorFlow 1",
            GRAPHS,
        )
    if maker is None or not is_keras_optimizer(maker):
        return refuse(
            module,
            node,
            f"{module.text(inner)} is not certainly an optimizer of Keras",
            f"with optimizers of Keras write {_POLICY} before the model is built instead; with "
            f"those of tf.train {GRAPHS}",
        )
    request = policy_request(node, module)
    if request is None:
        return refuse(
            module,
            node,
            "the conditions of the graph rewrite are not certain",
            f"write {_POLICY} under the same conditions before the model is built",
        )
    edits = _unwrapped(call, inner, scale, program)
    if isinstance(edits, Refusal):
        return edits
    return RewriteRequest(request, edits, "call")


def _unwrapped(call: Call, inner: ast.expr, scale: Scale, program: Program) -> list[Edit] | Refusal:
    """Return the edits that make a wrapped optimizer plain, or a LossScaleOptimizer."""
    module, node = call.module, call.node
    arguments: list[str] = []
    loops = any(SCALED in module.source.text for module in program.modules)
    if scale.kind == "fixed" and loops:
        arguments = ["dynamic=False", f"initial_scale={scale.initial}"]
    elif scale.kind == "dynamic":
        arguments += [f"initial_scale={scale.initial}"] if scale.initial else []
        arguments += [f"dynamic_growth_steps={scale.interval}"] if scale.interval else []
    if loops or arguments:
        root = ast.unparse(node.func).partition(".")[0]
        if module.imports.get(root) != "tensorflow":
            return refuse(module, node, "the import of Keras is not certain", "wrap it by hand")
        text = ", ".join([raw(module, inner), *arguments])
        new = f"{root}.keras.mixed_precision.LossScaleOptimizer({text})"
        return [replace_node(module, node, new)]
    edits: list[Edit] = []
    if scale.kind == "fixed":
        fixed = fixed_scale(program, scale.initial, call, maker_of(inner, module))
        if isinstance(fixed, Refusal):
            return fixed
        edits += fixed
    statement = module.parent(node)
    same = (
        isinstance(statement, ast.Assign)
        and len(statement.targets) == 1
        and ast.unparse(statement.targets[0]) == ast.unparse(inner)
    )
    gone = remove(module, statement) if same and isinstance(statement, ast.stmt) else None
    return [*edits, gone or replace_node(module, node, raw(module, inner))]


_MODEL = """\
model = tf.keras.Sequential(
    [tf.keras.layers.Dense(64), tf.keras.layers.Dense(2, dtype="float32")]
)
"""
_REWRITE = f"""\
import tensorflow as tf

{_MODEL}optimizer = tf.keras.optimizers.Adam(1e-3)
optimizer = tf.train.experimental.enable_mixed_precision_graph_rewrite(optimizer)
model.compile(optimizer, loss="mse")
model.fit(inputs, targets)
"""
_REWRITTEN = f"""\
import tensorflow as tf

tf.keras.mixed_precision.set_global_policy("mixed_float16")
{_MODEL}optimizer = tf.keras.optimizers.Adam(1e-3)
model.compile(optimizer, loss="mse")
model.fit(inputs, targets)
"""
_VARIABLE = f"""\
import argparse
import os

import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--amp", action="store_true")
args = parser.parse_args()
{{}}
{_MODEL}model.compile(tf.keras.optimizers.Adam(1e-3), loss="mse")
model.fit(inputs, targets)
"""
_SESSION = """\
import tensorflow.compat.v1 as tf

optimizer = tf.train.AdamOptimizer(1e-3)
optimizer = tf.train.experimental.enable_mixed_precision_graph_rewrite(optimizer)
step = optimizer.minimize(loss)
with tf.Session() as session:
    session.run(step)
"""

CODEMOD = Codemod(
    code="CM203",
    name="tf-graph-rewrite",
    api="keras3",
    title="The graph rewrite for mixed precision (call, environment variable, option) becomes a "
    "Keras policy set before the model is built",
    hints=(_CALL, "TF_ENABLE_AUTO_MIXED_PRECISION", "auto_mixed_precision"),
    examples=(
        Example(before=_REWRITE, after=_REWRITTEN),
        Example(
            before=_REWRITE.replace("rewrite(optimizer)", "rewrite(optimizer, loss_scale=128)"),
            after=_REWRITTEN.replace("Adam(1e-3)", "Adam(1e-3, loss_scale_factor=128.0)").replace(
                'loss="mse"', 'loss="mse", auto_scale_loss=False'
            ),
        ),
        Example(
            before=_VARIABLE.format(
                'if args.amp:\n    os.environ["TF_ENABLE_AUTO_MIXED_PRECISION"] = "1"'
            ),
            after=_VARIABLE.format(
                'if args.amp:\n    tf.keras.mixed_precision.set_global_policy("mixed_float16")'
            ),
        ),
        Example(before=_REWRITTEN, after=_REWRITTEN),
        Example(before=_SESSION, after=_SESSION, refused="graphs of TensorFlow 1"),
    ),
    run=run,
)
