"""TensorFlow for the observer: a script is traced once, so what is seen lives in variables.

The graph writes them while `active` is true, which it is in the recorded windows. Windows before
the last of these are watched, too, for the graphs that they trace; in the others one condition is
left for each group of writes. Graphs traced after the last recorded window have none.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from crosscast_parity.inside.watcher import Array, Seen, Watcher

MOST = 4096
"""Micro-batches whose losses are kept; a window has fewer."""


def _zeros(shape: Any, dtype: Any = tf.float32) -> Any:
    return tf.Variable(tf.zeros(shape, dtype), trainable=False, name="observed")


class Slots:
    """The variables; made in the first window, for a variable starts the runtime."""

    def __init__(self, shapes: Mapping[str, Any], small: bool) -> None:
        self.active = tf.Variable(False, trainable=False, name="observing")
        self.micro, self.firsts, self.steps = (_zeros((), tf.int32) for _ in range(3))
        self.losses, self.factors = _zeros((MOST,)), _zeros((MOST,))
        self.total = {name: _zeros(shape) for name, shape in shapes.items()}
        self.first = {name: _zeros(shape) for name, shape in shapes.items()} if small else {}
        self.applied: dict[str, Any] = {}

    def clear(self) -> None:
        """Start with a window."""
        counts = (self.micro, self.firsts, self.steps, self.losses, self.factors)
        for variable in (*counts, *self.total.values(), *self.first.values()):
            variable.assign(tf.zeros_like(variable))


class TracedWatcher:
    """Sees the results of `GradientTape.gradient` and the arguments of `optimizer.apply`."""

    def __init__(self) -> None:
        self._slots: Slots | None = None
        self._names: dict[Any, str] = {}
        self._order: list[str] = []
        self._loss: Any = None
        self._dtypes: dict[str, str] = {}
        self._with_factor = self._within = False
        self._gradient: tuple[Any, Any] | None = None
        self._undo_apply: Callable[[], None] | None = None

    def plain(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Keep AutoGraph from rewriting a function."""
        return tf.autograph.experimental.do_not_convert(function)  # type: ignore[no-any-return]

    def begin(
        self, state: Any, models: Sequence[Mapping[str, Any]], small: bool, active: bool
    ) -> None:
        """Start with a window."""
        if self._slots is None:
            shapes: dict[str, Any] = {}
            for named in models:
                for name, parameter in named.items():
                    # What Keras 3 calls a variable holds TensorFlow's as its value.
                    variable = _variable(parameter)
                    self._names[variable.ref()] = name
                    shapes[name] = variable.shape
            self._slots = Slots(shapes, small)
            trained = getattr(getattr(state, "model", None), "trainable_variables", ())
            self._order = [self._names.get(_variable(v).ref(), "") for v in trained]
            self._wrap_apply(getattr(state, "optimizer", None))
        if active:
            self._slots.clear()
        self._slots.active.assign(active)

    def enter(self) -> None:
        """Watch the tape: only now, so behind the poison of an injector."""
        if self._gradient is None:
            original = tf.GradientTape.gradient
            self._gradient = original, self._watching(original)
            tf.GradientTape.gradient = self._gradient[1]

    def leave(self, loss: Any) -> Any:
        """Note the loss."""
        slots = self._slots
        if slots is None or not isinstance(loss, tf.Tensor) or loss.shape.rank != 0:
            return loss
        self._loss = loss
        tf.cond(slots.active, lambda: self._note_loss(slots, loss), lambda: tf.constant(0))
        return loss

    def end(self) -> Seen:
        """Read the variables."""
        seen, slots = Seen(), self._slots
        self._unwatch()
        if slots is None or not bool(slots.active):
            return seen
        slots.active.assign(False)
        count = min(int(slots.micro), MOST)
        seen.losses = list(map(float, slots.losses.numpy()[:count]))
        factors = slots.factors.numpy()[:count]
        seen.factors = [float(factor) if self._with_factor else None for factor in factors]
        seen.gradient_dtypes = dict(self._dtypes)
        seen.total = {name: _array(slots.total[name]) for name in self._dtypes}
        if int(slots.firsts) == 1:
            seen.first = {n: _array(slots.first[n]) for n in self._dtypes if n in slots.first}
        if int(slots.steps):
            seen.applied = {name: _array(value) for name, value in slots.applied.items()}
        return seen

    def close(self) -> None:
        """Leave the tape and the optimizer alone."""
        self._unwatch()
        undo, self._undo_apply = self._undo_apply, None
        if undo is not None:
            undo()
        if self._slots is not None:
            self._slots.active.assign(False)

    def array(self, parameter: Any) -> Array:
        """Return the values of a parameter."""
        return _array(_variable(parameter))

    def _unwatch(self) -> None:
        original, ours = self._gradient or (None, None)
        if tf.GradientTape.gradient is ours:
            tf.GradientTape.gradient = original
        self._gradient = None

    def _note_loss(self, slots: Slots, loss: Any) -> Any:
        index = tf.minimum(slots.micro, MOST - 1)
        slots.losses.scatter_nd_update([[index]], [tf.cast(loss, tf.float32)])
        slots.micro.assign_add(1)
        return tf.constant(0)

    def _watching(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def gradient(tape: Any, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
            # Recomputed layers have tapes of their own within this one.
            if self._within or not isinstance(sources, list | tuple):
                return original(tape, target, sources, *args, **kwargs)
            loss, self._loss = self._loss, None
            extra = [loss] if _reachable(loss) else []
            self._within = True
            try:
                computed = original(tape, target, [*sources, *extra], *args, **kwargs)
            finally:
                self._within = False
            gradients = computed[: len(sources)]
            self._note_gradients(sources, gradients, computed[len(sources) :])
            return type(sources)(gradients)

        return self.plain(gradient)

    def _note_gradients(self, sources: Any, gradients: Any, factors: Any) -> None:
        slots = self._slots
        names = [self._names.get(s.ref()) if hasattr(s, "ref") else None for s in sources]
        pairs = [(n, g) for n, g in zip(names, gradients, strict=True) if n and g is not None]
        if slots is None or not pairs:
            return
        self._dtypes |= {name: gradient.dtype.name for name, gradient in pairs}

        def note() -> Any:
            for name, gradient in pairs:
                _add(slots.total[name], gradient)
            for factor in factors:
                if factor is not None:
                    self._with_factor = True
                    index = tf.minimum(slots.micro - 1, MOST - 1)
                    slots.factors.scatter_nd_update([[index]], [tf.cast(factor, tf.float32)])
            return tf.constant(0)

        def note_first() -> Any:
            slots.firsts.assign_add(1)
            for name, gradient in pairs:
                _add(slots.first[name], gradient)
            return tf.constant(0)

        tf.cond(slots.active, note, lambda: tf.constant(0))
        if slots.first:
            tf.cond(slots.active & tf.equal(slots.micro, 1), note_first, lambda: tf.constant(0))

    def _wrap_apply(self, optimizer: Any) -> None:
        original = getattr(optimizer, "apply", None)
        if original is None:
            return
        note = self.plain(self._note_applied)

        @functools.wraps(original)
        def apply(gradients: Any, *args: Any, **kwargs: Any) -> Any:
            note(gradients)
            return original(gradients, *args, **kwargs)

        def undo() -> None:
            if vars(optimizer).get("apply") is apply:
                del optimizer.apply

        slots = self._slots
        if slots is not None:
            slots.applied = {n: _zeros(slots.total[n].shape) for n in self._order if n}
            optimizer.apply = apply
            self._undo_apply = undo

    def _note_applied(self, gradients: Any) -> None:
        slots = self._slots
        if slots is None or len(gradients) != len(self._order):
            return

        def note() -> Any:
            slots.steps.assign_add(1)
            for name, gradient in zip(self._order, gradients, strict=True):
                if name and gradient is not None:
                    slots.applied[name].assign(tf.cast(tf.convert_to_tensor(gradient), tf.float32))
            return tf.constant(0)

        tf.cond(slots.active, note, lambda: tf.constant(0))


def _variable(parameter: Any) -> Any:
    return parameter if isinstance(parameter, tf.Variable) else parameter.value


def _reachable(loss: Any) -> bool:
    """Whether a loss belongs to what is being run or traced here."""
    if loss is None or tf.executing_eagerly():
        return loss is not None
    return getattr(loss, "graph", None) is tf.compat.v1.get_default_graph()


def _add(total: Any, gradient: Any) -> None:
    # Rows of an embedding; some come more than once. In half TensorFlow has nothing that adds them
    # to a float32 variable, so what is delivered is what it makes of them in half.
    if isinstance(gradient, tf.IndexedSlices) and gradient.dtype == tf.float32:
        total.scatter_add(gradient)
    else:
        total.assign_add(tf.cast(tf.convert_to_tensor(gradient), tf.float32))


def _array(variable: Any) -> Array:
    return np.array(tf.cast(tf.convert_to_tensor(variable), tf.float32).numpy(), np.float32)


def make_watcher() -> Watcher:
    """Return the watcher of a run."""
    return TracedWatcher()
