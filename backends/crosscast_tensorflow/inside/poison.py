"""Faults in TensorFlow, which traces a loss once: what changes later must be in its graph.

TensorFlow is imported when a script that uses it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

MOST = 4096
"""Micro-batches that can be poisoned; a window has fewer."""


class VariableCell:
    """The factors of a window's losses as a variable of the graph, which counts the losses.

    Python cannot: one call of the graph may train a whole window.
    """

    def __init__(self) -> None:
        self._variables: tuple[Any, Any] | None = None

    def _make_variables(self) -> tuple[Any, Any]:
        # Made late: a variable starts the runtime, after which threads cannot be set any more.
        # In init_scope because the first use may be inside a function that is being traced.
        if self._variables is None:
            import tensorflow as tf

            with tf.init_scope():
                factors = tf.Variable(tf.ones(MOST), trainable=False, name="fault_factors")
                count = tf.Variable(0, trainable=False, dtype=tf.int64, name="fault_count")
            self._variables = factors, count
        return self._variables

    def set(self, micro: int, factor: float) -> None:
        """Use `factor` for the loss that is the window's with that number."""
        factors, count = self._make_variables()
        if micro == 0:
            count.assign(0)
            factors.assign([factor] + [1.0] * (MOST - 1))
        elif factor != 1.0:
            factors.scatter_nd_update([[micro]], [factor])

    def apply(self, loss: Any) -> Any:
        """Return the loss times its factor."""
        import tensorflow as tf

        factors, count = self._make_variables()
        count.assign_add(1)
        return loss * tf.cast(factors.sparse_read(self.place()), loss.dtype)

    def place(self) -> Any:
        """Return the number of the loss that came last, in the graph."""
        import tensorflow as tf

        return tf.minimum(self._make_variables()[1] - 1, MOST - 1)


class TracedGradients:
    """`GradientTape.gradient`, whose result a script has traced into a graph.

    So the values live in a variable: a number for every micro-batch and parameter, 0 for gradients
    to leave alone.
    """

    def __init__(self, cell: VariableCell) -> None:
        self._cell = cell
        self.reached: set[str] = set()
        self._positions: dict[Any, int] = {}
        self._names: list[str] = []
        self._values: Any = None
        self._original: Any = None
        self._patch: Any = None

    def attach(self, parameters: Mapping[str, Any]) -> None:
        """Note the variables and watch the tape."""
        import tensorflow as tf

        self._names = list(dict.fromkeys([*self._names, *parameters]))
        for name, parameter in parameters.items():
            # What Keras 3 calls a variable holds TensorFlow's as its value.
            variable = parameter if isinstance(parameter, tf.Variable) else parameter.value
            self._positions[variable.ref()] = self._names.index(name)
        zeros = tf.zeros((MOST, len(self._names)))
        self._values = tf.Variable(zeros, trainable=False, name="fault_values")
        if self._original is None:
            self._original = tf.GradientTape.gradient
            self._patch = tf.GradientTape.gradient = self._watching(self._original)

    def set(self, micro: int, values: Mapping[str, float]) -> None:
        """Fill these gradients of the micro-batch whose loss has that number."""
        import tensorflow as tf

        if self._values is None:
            return
        if micro == 0:
            self._values.assign(tf.zeros_like(self._values))
        if values:
            row = [values.get(name, 0.0) for name in self._names]
            self._values.scatter_nd_update([[micro]], [row])

    def release(self) -> None:
        """Give the tape its own function back."""
        if self._original is not None:
            import tensorflow as tf

            # Who observes as well may have put back what was there before both.
            if tf.GradientTape.gradient is self._patch:
                tf.GradientTape.gradient = self._original
            self._original = None

    def _watching(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def gradient(tape: Any, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
            gradients = original(tape, target, sources, *args, **kwargs)
            if not isinstance(sources, list | tuple):
                return gradients
            return [
                self._poisoned(gradient, of)
                for gradient, of in zip(gradients, sources, strict=True)
            ]

        return gradient

    def _poisoned(self, gradient: Any, source: Any) -> Any:
        import tensorflow as tf

        reference = source.ref() if hasattr(source, "ref") else None
        if gradient is None or reference not in self._positions:
            return gradient
        if isinstance(gradient, tf.IndexedSlices):  # rows of an embedding
            rows = self._poisoned(gradient.values, source)
            return tf.IndexedSlices(rows, gradient.indices, gradient.dense_shape)
        position = self._positions[reference]
        self.reached.add(self._names[position])
        row = self._values.sparse_read(self._cell.place())
        value = tf.cast(row[position], gradient.dtype)
        return tf.where(value == 0, gradient, value)


def make_poison() -> tuple[VariableCell, TracedGradients]:
    """Return the means to poison losses and gradients."""
    cell = VariableCell()
    return cell, TracedGradients(cell)
