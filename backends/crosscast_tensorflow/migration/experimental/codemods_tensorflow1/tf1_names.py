"""CM401: programs of TensorFlow 1 to `tf.compat.v1`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_migrate.codemod import Change, Codemod, Example, Outcome, Refusal
from crosscast_reading.lint.outdated_apis import within_try
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.migration.experimental.tensorflow1.eras import era_of
from crosscast_tensorflow.migration.experimental.tensorflow1.helper_files import helper_files
from crosscast_tensorflow.migration.experimental.tensorflow1.module_edits import ModuleEdits
from crosscast_tensorflow.migration.experimental.tensorflow1.module_names import (
    imports_of,
    is_chosen,
    needs_mode,
    rebound,
    uses_of,
)
from crosscast_tensorflow.migration.experimental.tensorflow1.moved_names import V1
from crosscast_tensorflow.migration.experimental.tensorflow1.started_modules import started_with
from crosscast_tensorflow.migration.experimental.tensorflow1.v1_names import is_v1_name

_LEGACY = 'os.environ["TF_USE_LEGACY_KERAS"] = "1"'
_MODES = ("disable_v2_behavior", "disable_eager_execution")
_EAGER = "enable_eager_execution"
_PYTHON_2 = ("xrange", "unicode", "raw_input", "basestring", "unichr")
_NAME = re.compile(r"(tf|tensorflow)(\.[A-Za-z]\w*)+")
_NOTES = {
    "legacy": "tf.layers, tf.nn.rnn_cell and tf.keras are those of the package tf_keras, which "
    "TF_USE_LEGACY_KERAS selects: pip install tf_keras",
    "tf_slim": "tf_slim replaces tf.contrib.layers, slim and arg_scope; install 1.2.0 or newer: "
    "pip install git+https://github.com/google-research/tf-slim",
    "session_estimator": "session_estimator.py has the estimators that TensorFlow lacks since "
    "2.16; it trains in one process, without distribution strategies and exports",
    "session_tpu_estimator": "session_tpu_estimator.py has the TPUEstimator without a TPU",
    "rewrite": "the graph rewrite casts only on a GPU, as before; its loss scale works everywhere",
}


def run(subject: Subject) -> Iterator[Outcome]:
    """Change each module, and switch TensorFlow 2 off in those that are started."""
    program = subject.program
    found = [_read(module) for module in program.modules]
    present = [edits for edits in found if edits.imports]
    if not present:
        return
    era = era_of(program.modules)
    if era.contradictory:
        yield era.refusal()
        return
    old = era.certain
    text = "\n".join(module.source.text for module in program.modules)
    graphs = (old or any(word in text for word in _MODES)) and _EAGER not in text
    whole = {bound.plain for edits in present for bound in edits.imports if not bound.path}
    if not old and whole != {False}:
        yield from _estimators(present)
        return
    for edits in present:
        node = rebound(edits.module, edits.imports, edits.uses)
        if node is not None:
            yield Refusal(
                span=edits.module.span(node),
                message="the name of an import of TensorFlow has another meaning here",
                hint="give one of them another name, and run again",
            )
            return
        edits.run(convert=old, graphs=graphs)
    started = started_with(program, [edits.module for edits in present if needs_mode(edits.uses)])
    _set_up(program, found, started, convert=old)
    for edits in found:
        yield from edits.refusals
        yield from _python_2(edits.module)
        yield from _exports(edits)
        yield from _by_other_names(edits)
        if edits.edits:
            yield _change(edits)
    yield from _texts(present)


def _read(module: Module) -> ModuleEdits:
    imports = imports_of(module)
    return ModuleEdits(module, imports, uses_of(module, imports) if imports else [])


def _set_up(
    program: Program, found: list[ModuleEdits], started: list[Module], *, convert: bool
) -> None:
    """Add what must run before everything else, and the imports of each module."""
    text = "\n".join(module.source.text for module in program.modules)
    legacy = any(edits.legacy_keras for edits in found) and "TF_USE_LEGACY_KERAS" not in text
    mode = convert and not any(word in text for word in _MODES)
    for edits in found:
        here = edits.module in started
        if _EAGER in text:
            # After the call of another module, disable_v2_behavior would undo it.
            here = bool(edits.imports) and _EAGER in edits.module.source.text
        first: list[str] = []
        after: list[str] = []
        if legacy and edits.module in started and (edits.edits or convert):
            first = [*([] if edits.imports_os() else ["import os"]), _LEGACY]
        if mode and here:
            after = [f"{edits.tensorflow}.disable_v2_behavior()"]
        edits.add_lines(first, after)


def _python_2(module: Module) -> Iterator[Refusal]:
    """Refuse names that only Python 2 has."""
    seen: set[str] = set()
    for node in module.every(ast.Name):
        if node.id in _PYTHON_2 and node.id not in seen:
            if any(node.id in scope.bindings for scope in module.scopes.values()):
                continue
            if _for_python_2(module, node):
                continue
            seen.add(node.id)
            yield Refusal(
                span=module.span(node),
                message=f"{node.id} exists only in Python 2",
                hint="convert the file with 2to3 first",
            )


def _exports(edits: ModuleEdits) -> Iterator[Refusal]:
    """Refuse exports of estimators."""
    for call in edits.module.calls if edits.imports else ():
        if call.method in ("export_savedmodel", "export_saved_model"):
            yield Refusal(
                span=edits.module.span(call.node),
                message=f"{call.method} of an estimator has no counterpart",
                hint="export with tf.saved_model.simple_save in a session that restores the "
                "checkpoint",
            )


def _estimators(present: list[ModuleEdits]) -> Iterator[Refusal]:
    """Refuse estimators of programs that were written for TensorFlow 2."""
    for edits in present:
        module = edits.module
        for use in edits.uses:
            first = use.path.removeprefix("compat.v2.").partition(".")[0]
            attribute = use.path.partition(".")[2]
            if first != "estimator" or not attribute or is_chosen(module, use.node):
                continue
            yield Refusal(
                span=module.span(use.node),
                message="tf.estimator is gone since TensorFlow 2.16, and the program is one of "
                "TensorFlow 2",
                hint="stay with TensorFlow 2.15, or train with tf.keras or your own loop",
            )
            break


def _by_other_names(edits: ModuleEdits) -> Iterator[Refusal]:
    """Refuse what is gone and reached by another name than that of an import: `self.tf.contrib`."""
    known = {id(use.node) for use in edits.uses}
    for node in edits.module.every(ast.Attribute):
        if node.attr != "contrib" or id(node) in known or edits.module.is_dead(node):
            continue
        if edits.module.resolve(node.value) not in ("tensorflow", V1):
            continue
        root = node.value
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or _is_another(root, edits):
            yield Refusal(
                span=edits.module.span(node),
                message="tf.contrib is gone, and it is reached by another name here",
                hint="write it with the name of the import of TensorFlow, and run again",
            )


def _is_another(root: ast.Name, edits: ModuleEdits) -> bool:
    known = any(root.id == bound.local for bound in edits.imports)
    return not known and edits.module.scope_of(root).lookup(root.id) is not None


def _texts(present: list[ModuleEdits]) -> Iterator[Refusal]:
    """Refuse texts that name what only TensorFlow 1 has, unless `tf.compat.v1` is in a text too.

    They are looked up when the program runs.
    """
    texts = [
        (edits.module, node, node.value)
        for edits in present
        for node in edits.module.every(ast.Constant)
        if isinstance(node.value, str) and not edits.module.is_dead(node)
    ]
    if any("tensorflow.compat.v1" in text for _, _, text in texts):
        return
    for module, node, text in texts:
        if _NAME.fullmatch(text) and is_v1_name(text.partition(".")[2]):
            yield Refusal(
                span=module.span(node),
                message=f"{text} is in a text, and TensorFlow 2 has no such name",
                hint="if the program looks it up, let it look in tensorflow.compat.v1",
            )


def _for_python_2(module: Module, node: ast.AST) -> bool:
    """Whether a node runs only under Python 2, or its failure is handled."""
    here: ast.AST | None = node
    while here is not None:
        test = module.text(here.test) if isinstance(here, ast.If | ast.IfExp) else ""
        if any(word in test for word in ("PY2", "PY3", "version_info")):
            return True
        here = module.parent(here)
    return within_try(module, node)


def _change(edits: ModuleEdits) -> Change:
    module = edits.module
    where = edits.imports[0].statement if edits.imports else module.tree.body[0]
    renamed = [f"{old} is {new}" for old, new in edits.renamed.items()]
    notes = [_NOTES[name] for name in edits.needed if name in _NOTES]
    if edits.legacy_keras:
        notes.append(_NOTES["legacy"])
    if "enable_mixed_precision_graph_rewrite" in module.source.text:
        notes.append(_NOTES["rewrite"])
    return Change(
        span=module.span(where),
        message="; ".join(("tensorflow is tensorflow.compat.v1", *renamed[:4]))
        + (f" and {len(renamed) - 4} more" if len(renamed) > 4 else ""),
        edits=tuple(edits.edits),
        note="; ".join(notes),
    )


CODEMOD = Codemod(
    code="CM401",
    name="tensorflow-1",
    api="tf.compat.v1",
    title="TensorFlow 1 (sessions, layers, Estimator, contrib) to tf.compat.v1",
    hints=("tensorflow",),
    examples=(
        Example(
            before="""\
import tensorflow as tf

inputs = tf.placeholder(tf.float32, [None, 4])
weights = tf.get_variable("weights", [4], initializer=tf.contrib.layers.xavier_initializer())
loss = tf.reduce_mean(tf.square(inputs * weights - 1.0))
update = tf.train.AdamOptimizer(1e-2).minimize(loss)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for batch in batches():
        session.run(update, {inputs: batch})
""",
            after="""\
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()

inputs = tf.placeholder(tf.float32, [None, 4])
weights = tf.get_variable("weights", [4], initializer=tf.glorot_uniform_initializer())
loss = tf.reduce_mean(tf.square(inputs * weights - 1.0))
update = tf.train.AdamOptimizer(1e-2).minimize(loss)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for batch in batches():
        session.run(update, {inputs: batch})
""",
        ),
        Example(
            before="""\
import tensorflow as tf
from tensorflow.contrib.tpu import TPUConfig


def model_fn(features, labels, mode):
    logits = tf.layers.dense(features, 2)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    train = optimizer.minimize(loss, tf.train.get_or_create_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


estimator = tf.estimator.Estimator(model_fn, "out")
estimator.train(input_fn, steps=20)
""",
            after="""\
import os
os.environ["TF_USE_LEGACY_KERAS"] = "1"
import tensorflow.compat.v1 as tf
import session_estimator
tf.disable_v2_behavior()
from session_tpu_estimator import TPUConfig


def model_fn(features, labels, mode):
    logits = tf.layers.dense(features, 2)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    train = optimizer.minimize(loss, tf.train.get_or_create_global_step())
    return session_estimator.EstimatorSpec(mode, loss=loss, train_op=train)


estimator = session_estimator.Estimator(model_fn, "out")
estimator.train(input_fn, steps=20)
""",
        ),
        Example(
            before="""\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(4)])
model.compile("adam", "mse")
model.fit(dataset)
""",
            after="""\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(4)])
model.compile("adam", "mse")
model.fit(dataset)
""",
        ),
        Example(
            before="""\
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
decoder = tf.contrib.seq2seq.BasicDecoder(cell, helper, state)
tf.train.AdamOptimizer(1e-2).minimize(loss_of(decoder))
""",
            after="""\
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
decoder = tf.contrib.seq2seq.BasicDecoder(cell, helper, state)
tf.train.AdamOptimizer(1e-2).minimize(loss_of(decoder))
""",
            refused="tf.contrib.seq2seq.BasicDecoder is gone",
        ),
    ),
    run=run,
    scope="connected",
    beside=helper_files,
)
