"""CM205: DistributedOptimizer of Horovod and BytePS, which has no effect in Keras 3."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_migrate.codemod import Change, Codemod, Example, Outcome, Refusal
from crosscast_reading.lint.rules._examples import changed
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.migration.experimental.keras import added_code
from crosscast_tensorflow.migration.experimental.keras.horovod import (
    averaged,
    distributed_optimizers,
)
from crosscast_tensorflow.migration.experimental.keras_names.scope import stays_as_it_is

_NOTE = (
    "the gradients are averaged in apply, before clipping, before the check for overflow and while "
    "they are scaled; try it with your build of Horovod, which was not made for Keras 3"
)


def run(subject: Subject) -> Iterator[Outcome]:
    """Change or refuse every wrapper."""
    program = subject.program
    if stays_as_it_is(program):
        return
    for call in distributed_optimizers(program):
        made = averaged(call, program)
        if isinstance(made, Refusal):
            yield made
            continue
        yield Change(
            span=call.module.span(call.node),
            message="the gradients of all processes are averaged in apply: Keras 3 calls none of "
            "the methods by which DistributedOptimizer did it",
            edits=tuple(made),
            note=_NOTE,
        )


_BEFORE = """\
import horovod.tensorflow.keras as hvd
import tensorflow as tf

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.1 * hvd.size()))
model.compile(optimizer, loss="mse")
"""
_AFTER = changed(
    _BEFORE,
    ("import tensorflow as tf\n", "import tensorflow as tf\n\n\n{}"),
    (
        "hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.1 * hvd.size()))",
        "averaging_optimizer(tf.keras.optimizers.SGD(0.1 * hvd.size()), hvd.allreduce)",
    ),
).replace("{}", added_code.TEXTS[added_code.AVERAGED])
_TAPE = """\
import horovod.tensorflow as hvd
import tensorflow as tf

with tf.GradientTape() as tape:
    loss = tf.reduce_mean(model(x) ** 2)
tape = hvd.DistributedGradientTape(tape)
"""
_PASSES = changed(_BEFORE, ("hvd.size()))", "hvd.size()), backward_passes_per_step=4)"))

CODEMOD = Codemod(
    code="CM205",
    name="keras-distributed-optimizer",
    api="keras3",
    title="DistributedOptimizer of Horovod or BytePS around an optimizer of Keras becomes an "
    "optimizer whose apply averages the gradients",
    hints=("DistributedOptimizer",),
    examples=(
        Example(before=_BEFORE, after=_AFTER),
        Example(before=_TAPE, after=_TAPE),
        Example(before=_PASSES, after=_PASSES, refused="it has backward_passes_per_step=4"),
    ),
    run=run,
)
