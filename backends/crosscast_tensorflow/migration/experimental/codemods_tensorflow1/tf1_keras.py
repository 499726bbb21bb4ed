"""CM404: programs of TensorFlow 1 that train with tf.keras, to Keras 3."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from crosscast_migrate.codemod import Change, Codemod, Example, Outcome, Refusal
from crosscast_reading.edits.edit import Edit
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.migration.experimental.keras.program import compiles
from crosscast_tensorflow.migration.experimental.keras_names.scope import selects_keras_2
from crosscast_tensorflow.migration.experimental.tensorflow1 import added_code
from crosscast_tensorflow.migration.experimental.tensorflow1 import keras_meanings as meanings
from crosscast_tensorflow.migration.experimental.tensorflow1.eras import is_eager
from crosscast_tensorflow.migration.experimental.tensorflow1.keras_programs import old_keras_parts
from crosscast_tensorflow.migration.experimental.tensorflow1.keras_uses import KerasUses
from crosscast_tensorflow.migration.experimental.tensorflow1.train_optimizers import OPTIMIZERS

_OPTIMIZERS = tuple(f"tensorflow.{path}" for path in OPTIMIZERS)


def run(subject: Subject) -> Iterator[Outcome]:
    """Change each program, a script with what it imports, as a whole or not at all."""
    program = subject.program
    old = [(part, era) for part, era in old_keras_parts(program) if not _has_keras_2(part)]
    yield from dict.fromkeys(era.refusal() for _, era in old if era.contradictory)
    parts = [part for part, era in old if era.certain]
    if not parts:
        return
    found = _read(program, parts)
    compiled = list(compiles(program))
    for part in parts:
        meanings.metric_keys([call for call in compiled if call.module in part], part, found)
    meanings.frozen(program, found)
    added: dict[Module, list[Edit]] = {}
    for module, uses in found.items():
        new = added_code.additions(module, uses.needed)
        if isinstance(new, Refusal):
            uses.refusals.append(new)
        else:
            added[module] = list(new)
    yield from dict.fromkeys(refusal for uses in found.values() for refusal in uses.refusals)
    good = [part for part in parts if not any(found[module].refusals for module in part)]
    whole = {module: None for part in good for module in part}
    edits = [edit for module in whole for edit in (*added[module], *found[module].edits)]
    if edits:
        yield _change([found[module] for module in whole], edits)


def _read(program: Program, parts: Sequence[Sequence[Module]]) -> dict[Module, KerasUses]:
    """Find the edits and refusals of the modules of some programs."""
    found = {
        module: KerasUses(module)
        for module in program.modules
        if any(module in part for part in parts)
    }
    optimizers = {call.module for name, call in calls_of(program) if name in _OPTIMIZERS}
    for module, uses in found.items():
        mine = [part for part in parts if module in part]
        uses.read()
        meanings.iterators(uses, eager=any(map(is_eager, mine)))
        replaced = any(other in optimizers for part in mine for other in part)
        meanings.optimizer_methods(uses, replaced=replaced)
        meanings.set_inputs(uses)
        uses.run()
        meanings.layers(uses)
        meanings.added_losses(uses)
        meanings.patched_optimizers(uses)
    return found


def _has_keras_2(part: Sequence[Module]) -> bool:
    return any(selects_keras_2(module) for module in part)


def _change(found: list[KerasUses], edits: list[Edit]) -> Change:
    first = next(uses for uses in found if uses.edits)
    edit = min(first.edits, key=lambda edit: (edit.line, edit.column))
    renamed = {old: new for uses in found for old, new in uses.renamed.items()}
    texts = [f"{old} is {new}" for old, new in renamed.items()]
    return Change(
        span=first.module.span(ast.Pass(lineno=edit.line, col_offset=edit.column - 1)),
        message="; ".join(("TensorFlow 1 with tf.keras is Keras 3", *texts[:4]))
        + (f" and {len(texts) - 4} more" if len(texts) > 4 else ""),
        edits=tuple(dict.fromkeys(edits)),
        note="; ".join(dict.fromkeys(note for uses in found for note in uses.notes)),
    )


_BEFORE = """\
import tensorflow as tf

config = tf.ConfigProto()
config.gpu_options.allow_growth = True
tf.keras.backend.set_session(tf.Session(config=config))
tf.logging.info("TensorFlow 1")

model = tf.keras.Sequential([tf.keras.layers.Dense(2, activation=tf.nn.softmax)])
model.compile(
    tf.train.AdamOptimizer(1e-3),
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy"],
)
model.fit(rows, callbacks=[tf.keras.callbacks.EarlyStopping("val_acc")])
"""
_AFTER = """\
import tensorflow as tf

for physical_gpu in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(physical_gpu, True)
tf.compat.v1.logging.info("TensorFlow 1")

model = tf.keras.Sequential([tf.keras.layers.Dense(2, activation=tf.nn.softmax)])
model.compile(
    tf.keras.optimizers.Adam(1e-3, epsilon=1e-08),
    loss="sparse_categorical_crossentropy",
    metrics=["acc"],
)
model.fit(rows, callbacks=[tf.keras.callbacks.EarlyStopping("val_acc")])
"""
_LOOP = """\
import tensorflow as tf

tf.enable_eager_execution()
model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
optimizer = tf.train.MomentumOptimizer(0.1, momentum=0.9, use_nesterov=True)
step = tf.train.get_or_create_global_step()
for inputs, labels in rows:
    with tf.GradientTape() as tape:
        loss = tf.losses.sparse_softmax_cross_entropy(labels, model(inputs))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables), global_step=step)
"""
_NEW_LOOP = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True)
step = tf.compat.v1.train.get_or_create_global_step()
for inputs, labels in rows:
    with tf.GradientTape() as tape:
        loss = tf.compat.v1.losses.sparse_softmax_cross_entropy(labels, model(inputs))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    step.assign_add(1)
"""
_NEWER = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.GRU(2)])
model.compile(tf.keras.optimizers.Adam(1e-3), loss="mse", metrics=["accuracy"])
"""
_SESSION = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", loss="mse")
loss = tf.reduce_mean(model(tf.placeholder(tf.float32, [None, 4])))
"""

CODEMOD = Codemod(
    code="CM404",
    name="tensorflow-1-keras",
    api="keras3",
    title="Programs of TensorFlow 1 that train with tf.keras (optimizers of tf.train, set_session, "
    "tf.logging, eager loops) to Keras 3; sessions and estimators are named",
    hints=("tensorflow",),
    examples=(
        Example(before=_BEFORE, after=_AFTER),
        Example(before=_LOOP, after=_NEW_LOOP),
        Example(before=_NEWER, after=_NEWER),
        Example(before=_SESSION, after=_SESSION, refused="tf.placeholder belongs to graphs"),
    ),
    run=run,
    scope="connected",
)
