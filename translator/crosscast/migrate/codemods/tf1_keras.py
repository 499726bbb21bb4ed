"""CM404: programs of TensorFlow 1 that train with tf.keras, to Keras 3."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast.edits.edit import Edit
from crosscast.migrate.codemod import Change, Codemod, Example, Outcome, Refusal
from crosscast.migrate.keras import added_code
from crosscast.migrate.keras_names.scope import uses_keras_2
from crosscast.migrate.tensorflow1 import keras_meanings as meanings
from crosscast.migrate.tensorflow1.keras_programs import is_old_keras_program
from crosscast.migrate.tensorflow1.keras_uses import KerasUses
from crosscast.migrate.tensorflow1.train_optimizers import OPTIMIZERS
from crosscast.readers.python.library_calls import calls_of
from crosscast.sources.subject import Subject

_EAGER = ("enable_eager_execution", "enable_v2_behavior")
_OPTIMIZERS = tuple(f"tensorflow.{path}" for path in OPTIMIZERS)


def run(subject: Subject) -> Iterator[Outcome]:
    """Change the whole program, or nothing."""
    program = subject.program
    if uses_keras_2(program) or not is_old_keras_program(program):
        return
    found = {module: KerasUses(module) for module in program.modules}
    eager = any(word in module.source.text for module in program.modules for word in _EAGER)
    replaced = any(name in _OPTIMIZERS for name, _ in calls_of(program))
    for uses in found.values():
        uses.read()
        meanings.iterators(uses, eager=eager)
        meanings.optimizer_methods(uses, replaced=replaced)
        uses.run()
        meanings.layers(uses)
        meanings.added_losses(uses)
        meanings.patched_optimizers(uses)
    meanings.metric_keys(program, found)
    meanings.frozen(program, found)
    refusals = [refusal for uses in found.values() for refusal in uses.refusals]
    edits: list[Edit] = []
    for module, uses in found.items():
        added = added_code.additions(module, uses.needed)
        if isinstance(added, Refusal):
            refusals.append(added)
        else:
            edits += [*added, *uses.edits]
    if refusals:
        yield from dict.fromkeys(refusals)
    elif edits:
        yield _change(list(found.values()), edits)


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
)
