"""CM204: loss scaling with several replicas, where Keras 3 alone corrupts the weights."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_migrate.codemod import Change, Codemod, Example, Outcome
from crosscast_reading.lint.rules._examples import changed
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.migration.experimental.keras import added_code
from crosscast_tensorflow.migration.experimental.keras.carried_scale import optimizer_calls
from crosscast_tensorflow.migration.experimental.keras.experimental import all_names
from crosscast_tensorflow.migration.experimental.keras.replicas import replica_scaling
from crosscast_tensorflow.migration.experimental.keras.scaled_loop import SCALED, UNSCALED

_NOTE = (
    "measured with two replicas: one overflow skips the step and halves the scale on both, as in "
    "Keras 2; the LossScaleOptimizer of Keras 3 alone puts inf into the weights of one"
)


def run(subject: Subject) -> Iterator[Outcome]:
    """Change all optimizers of a program together, or none."""
    program = subject.program
    old = any(True for method in (SCALED, UNSCALED) for _ in optimizer_calls(program, method))
    if old or any(names.places or names.refusals for names in all_names(program.modules)):
        return  # the other codemods come first, and refuse if they cannot
    scaling = replica_scaling(program)
    if scaling.refusals:
        yield from dict.fromkeys(scaling.refusals)
        return
    if scaling.first is None:
        return
    module, node = scaling.first
    yield Change(
        span=module.span(node),
        message="with a tf.distribute strategy the gradients are averaged over the replicas before "
        "the LossScaleOptimizer checks them",
        edits=tuple(dict.fromkeys(scaling.edits)),
        note=_NOTE,
    )


_FIT = """\
import tensorflow as tf

tf.keras.mixed_precision.set_global_policy("{policy}")
strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(2, dtype="float32")])
    model.compile(optimizer={optimizer}, loss="mse")
model.fit(inputs, targets)
"""
_BEFORE = _FIT.format(policy="mixed_float16", optimizer="tf.keras.optimizers.Adam(1e-3)")
_PLAIN = _FIT.format(policy="mixed_bfloat16", optimizer="tf.keras.optimizers.Adam(1e-3)")
_CLIPS = _FIT.format(
    policy="mixed_float16", optimizer="tf.keras.optimizers.Adam(1e-3, global_clipnorm=1.0)"
)
_DEFINITIONS = "\n\n".join(added_code.TEXTS[n] for n in (added_code.REPLICAS, added_code.COMPILED))
_AFTER = changed(
    _BEFORE,
    ("import tensorflow as tf\n", f"import tensorflow as tf\n\n\n{_DEFINITIONS}"),
    ("tf.keras.optimizers.Adam(1e-3)", "replica_loss_scaling(tf.keras.optimizers.Adam(1e-3))"),
)

CODEMOD = Codemod(
    code="CM204",
    name="keras-replica-loss-scale",
    api="keras3",
    title="Under a tf.distribute strategy, the LossScaleOptimizer of Keras 3 sees gradients that "
    "are averaged over the replicas",
    hints=("strategy", "Strategy"),
    examples=(
        Example(before=_BEFORE, after=_AFTER),
        Example(before=_PLAIN, after=_PLAIN),
        Example(before=_CLIPS, after=_CLIPS, refused="clips by global_clipnorm"),
    ),
    run=run,
)
