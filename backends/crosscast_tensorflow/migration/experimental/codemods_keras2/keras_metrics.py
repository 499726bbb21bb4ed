"""CM217: weights of metrics and layers of the program itself."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_migrate.codemod import Codemod, Example, Outcome
from crosscast_reading.lint.rules._examples import changed
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.migration.experimental.keras.policies import Outcomes
from crosscast_tensorflow.migration.experimental.keras_names.outcomes import outcomes_of
from crosscast_tensorflow.migration.experimental.keras_names.own_metrics import (
    layer_weights,
    metric_weights,
)
from crosscast_tensorflow.migration.experimental.keras_names.scope import stays_as_it_is


def run(subject: Subject) -> Iterator[Outcome]:
    """Change the metrics of every module."""
    if stays_as_it_is(subject.program):
        return
    for module in subject.program.modules:
        out = Outcomes()
        metric_weights(module, subject.program, out)
        layer_weights(module, subject.program, out)
        yield from outcomes_of(
            module, out, "the weights of your metrics and layers, as Keras 3 adds them"
        )


_BEFORE = """\
import tensorflow as tf


class Seen(tf.keras.metrics.Metric):
    def __init__(self, classes):
        super().__init__(name="seen")
        self.share = self.add_weight(
            name="share", initializer="zeros", aggregation=tf.VariableAggregation.MEAN
        )
        self.rows = self.add_weight("rows", (classes,), initializer="zeros")
        self.end = self.add_weight("end", (), tf.VariableAggregation.NONE, initializer="zeros")
        self.count = self.add_weight(name="count", initializer="zeros")
"""
_AFTER = """\
import tensorflow as tf


class Seen(tf.keras.metrics.Metric):
    def __init__(self, classes):
        super().__init__(name="seen")
        self.share = self.add_variable(
            name="share", initializer="zeros", aggregation="mean", shape=()
        )
        self.rows = self.add_weight(name="rows", shape=(classes,), initializer="zeros")
        self.end = self.add_variable(name="end", shape=(), aggregation="none", initializer="zeros")
        self.count = self.add_weight(name="count", initializer="zeros")
"""
_OPEN = """\
import tensorflow as tf


class Seen(tf.keras.metrics.Metric):
    def __init__(self, how):
        super().__init__()
        self.share = self.add_weight(name="share", initializer="zeros", aggregation=how)
        self.drawn = self.add_weight(name="drawn", aggregation=tf.VariableAggregation.SUM)
"""
_LAYER = """\
import tensorflow as tf


class Scale(tf.keras.layers.Layer):
    def build(self, shape):
        self.scale = self.add_weight("scale", (shape[-1],), initializer="ones", use_resource=True)
        self.bias = self.add_weight(name="bias", shape=(shape[-1],))
"""
_LAYER_AFTER = changed(
    _LAYER,
    ('"scale", (shape[-1],), initializer="ones", use_resource=True',
     'name="scale", shape=(shape[-1],), initializer="ones"'),
)  # fmt: skip
_KEPT = """\
import tensorflow as tf


class Scale(tf.keras.layers.Layer):
    def build(self, shape):
        self.scale = self.add_weight((shape[-1],), initializer="ones")
        self.bias = self.add_weight(shape=(shape[-1],), name="bias", trainable=False)
"""

CODEMOD = Codemod(
    code="CM217",
    name="keras-metrics",
    api="keras3",
    title="Weights of metrics and layers of the program are added with the arguments of Keras 3",
    hints=("add_weight",),
    examples=(
        Example(before=_BEFORE, after=_AFTER),
        Example(before=_OPEN, after=_OPEN, refused="has other arguments in Keras 3"),
        Example(before=_LAYER, after=_LAYER_AFTER),
        Example(before=_KEPT, after=_KEPT),
    ),
    run=run,
)
