"""Faults in TensorFlow, which traces a loss once: what changes later must be in its graph.

TensorFlow is imported when a script that uses it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


class VariableCell:
    """The factor of the loss as a variable of the graph."""

    def __init__(self) -> None:
        self._variable: Any = None

    def _made(self) -> Any:
        # Made late: a variable starts the runtime, after which threads cannot be set any more.
        # In init_scope because the first use may be inside a function that is being traced.
        if self._variable is None:
            import tensorflow

            with tensorflow.init_scope():
                self._variable = tensorflow.Variable(
                    1.0, trainable=False, dtype=tensorflow.float32, name="fault_factor"
                )
        return self._variable

    def set(self, factor: float) -> None:
        """Use `factor` from now on."""
        self._made().assign(factor)

    def apply(self, loss: Any) -> Any:
        """Return the loss times the factor."""
        import tensorflow

        return loss * tensorflow.cast(self._made(), loss.dtype)


class TracedGradients:
    """`GradientTape.gradient`, whose result a script has traced into a graph.

    So the values live in a variable: one number a parameter, 0 for gradients to leave alone.
    """

    def __init__(self) -> None:
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
        zeros = tf.zeros(len(self._names))
        self._values = tf.Variable(zeros, trainable=False, name="fault_values")
        if self._original is None:
            self._original = tf.GradientTape.gradient
            self._patch = tf.GradientTape.gradient = self._watching(self._original)

    def set(self, values: Mapping[str, float]) -> None:
        """Fill these gradients from now on."""
        if self._values is not None:
            self._values.assign([values.get(name, 0.0) for name in self._names])

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
            found = original(tape, target, sources, *args, **kwargs)
            if not isinstance(sources, list | tuple):
                return found
            return [
                self._poisoned(gradient, of) for gradient, of in zip(found, sources, strict=True)
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
        value = tf.cast(self._values[position], gradient.dtype)
        return tf.where(value == 0, gradient, value)


make_cell = VariableCell
make_gradients = TracedGradients
