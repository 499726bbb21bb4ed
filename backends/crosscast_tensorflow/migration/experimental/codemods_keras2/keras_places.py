"""CM223: what Keras 3 does otherwise than Keras 2; it is named, and nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Span
from crosscast_migrate.codemod import Codemod, Example, Outcome, Refusal
from crosscast_reading.sources.files import kind_of
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.migration.experimental.keras_names.files import files
from crosscast_tensorflow.migration.experimental.keras_names.outcomes import Outcomes
from crosscast_tensorflow.migration.experimental.keras_names.place_search import (
    launched_rewrite,
    place_search,
)
from crosscast_tensorflow.migration.experimental.keras_names.scope import (
    imports_keras,
    keeps_meanings,
)


def run(subject: Subject) -> Iterator[Outcome]:
    """Name the places of every module and of the launch scripts."""
    program = subject.program
    if keeps_meanings(program):
        return
    for module in program.modules if any(map(imports_keras, program.modules)) else ():
        out = Outcomes()
        place_search(module, program, out)
        files(module, program, out)
        yield from dict.fromkeys(out.refusals)
    for source in subject.sources:
        rows = source.text.splitlines() if kind_of(source) == "shell" else []
        for line, name in launched_rewrite(rows):
            yield Refusal(
                span=Span(source.name, line, 1, None, rows[line - 1]),
                message=f"{name} does nothing for models of Keras 3",
                hint='write keras.mixed_precision.set_global_policy("mixed_float16") before the '
                "model is built",
            )


_SAME = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.Adam(1e-3), loss="mse", metrics=["mae"])
model.fit(rows, callbacks=[tf.keras.callbacks.EarlyStopping("val_loss")])
model.save("last.keras")
"""
_FILE = _SAME.replace('save("last.keras")', 'save_weights("last.h5")')
_MONITOR = _SAME.replace("val_loss", "val_iou")
_REWRITE = """\
import tensorflow as tf

optimizer = tf.keras.optimizers.Adam(1e-3)
optimizer = tf.train.experimental.enable_mixed_precision_graph_rewrite(optimizer)
"""
_MINIMIZE = """\
import tensorflow as tf

optimizer = tf.keras.optimizers.Adam(1e-3)
optimizer.minimize(lambda: loss(x), [x])
"""

CODEMOD = Codemod(
    code="CM223",
    name="keras-places",
    api="keras3",
    title="What Keras 3 does otherwise than Keras 2 (files, callbacks, members, formulas, the "
    "graph rewrite, replicas) is named",
    hints=("keras", "tensorflow", "TF_ENABLE_AUTO_MIXED_PRECISION"),
    examples=(
        Example(before=_SAME, after=_SAME),
        Example(before=_FILE, after=_FILE, refused="wants a name in .weights.h5"),
        Example(before=_MONITOR, after=_MONITOR, refused="whether more or less"),
        Example(before=_REWRITE, after=_REWRITE, refused="the graph rewrite does nothing"),
        Example(before=_MINIMIZE, after=_MINIMIZE, refused="minimize of an optimizer"),
    ),
    run=run,
    scope="connected",
    names_only=True,
)
