"""CM217: weights of metrics of the program itself."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.lint.rules._examples import changed
from crosscast.migrate.codemod import Codemod, Example, Outcome
from crosscast.migrate.keras.policies import Outcomes
from crosscast.migrate.keras_names.outcomes import outcomes_of
from crosscast.migrate.keras_names.own_metrics import metric_weights
from crosscast.migrate.keras_names.scope import stays_as_it_is
from crosscast.sources.subject import Subject


def run(subject: Subject) -> Iterator[Outcome]:
    """Change the metrics of every module."""
    if stays_as_it_is(subject.program):
        return
    for module in subject.program.modules:
        out = Outcomes()
        metric_weights(module, subject.program, out)
        yield from outcomes_of(module, out, "the weights of your metrics, as Keras 3 adds them")


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
_LAYER = changed(_BEFORE, ("tf.keras.metrics.Metric", "tf.keras.layers.Layer"))

CODEMOD = Codemod(
    code="CM217",
    name="keras-metrics",
    api="keras3",
    title="Weights of a metric of the program get the names of arguments that Keras 3 has",
    hints=("add_weight",),
    examples=(
        Example(before=_BEFORE, after=_AFTER),
        Example(before=_OPEN, after=_OPEN, refused="has other arguments in Keras 3"),
        Example(before=_LAYER, after=_LAYER),
    ),
    run=run,
)
