"""Record the updates of programs that train in sessions, in TensorFlow 1.15 and `tf.compat.v1`.

An update is a run of a session that writes weights, and neither creates nor restores them: the
weights are read before and after it, and the gradients and rates of its operations fetched with it.
Versions number operations otherwise, and so draw otherwise: weights that an initializer draws get
other values here, by their names, the same in every version. Other random numbers are only noted.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.client import session as sessions
from tensorflow.python.framework import ops as framework

from crosscast_parity.inside.updates import SEED, Records
from crosscast_tensorflow.inside.summaries import ROUNDING, pattern, summary

WRITES = ("Apply", "Assign", "Scatter", "SparseApply")
"""Beginnings of the types of operations that write a variable, without `Resource`."""
THROUGH = ("Enter", "Identity", "RefEnter", "RefIdentity", "RefSwitch", "Switch")
"""Operations between a variable and what writes it, within a condition."""
GRADIENTS = ("grad", "delta")
"""Names of the gradient among the inputs of an operation."""
RATES = ("lr", "alpha")
"""Names of the learning rate among the inputs of an operation."""


class UpdatePlan:
    """What a run of a session writes. `updated`: weight and the operations that write it."""

    def __init__(self, graph: Any, fetched: list[Any]) -> None:
        self.ancestors = above(fetched)
        weights = list(dict.fromkeys(graph.get_collection("trainable_variables")))
        every = [*graph.get_collection("variables"), *weights]
        self.created = [v for v in dict.fromkeys(every) if v.initializer in self.ancestors]
        self.restores = any(op.type.startswith("Restore") for op in self.ancestors)
        self.updated: dict[Any, list[Any]] = {}
        if self.created or self.restores:
            return
        by_op = {handle_of(weight): weight for weight in weights}
        for op in self.ancestors:
            if op.type.replace("Resource", "").startswith(WRITES) and op.inputs:
                weight = by_op.get(written_by(op))
                if weight is not None:
                    self.updated.setdefault(weight, []).append(op)
        self.updated = {
            weight: self.updated[weight] for weight in weights if weight in self.updated
        }
        self.kinds = sorted(
            {op.type.replace("Resource", "") for ops in self.updated.values() for op in ops}
        )

    @property
    def draws(self) -> bool:
        """Whether random numbers are drawn in the run."""
        return any(is_random(op.type) for op in self.ancestors)

    def extra(self, graph: Any) -> list[tuple[Any, Any]]:
        """Return gradient and rate of every updated weight, None where there is none."""
        pairs = []
        for written in self.updated.values():
            named = {key: t for op in written for key, t in inputs_of(op) if graph.is_fetchable(t)}
            sparse = any("Sparse" in op.type for op in written)
            gradients = [named[name] for name in GRADIENTS if name in named and not sparse]
            rates = [named[name] for name in RATES if name in named]
            pairs.append((gradients[0] if gradients else None, rates[0] if rates else None))
        return pairs


def above(fetched: list[Any]) -> set[Any]:
    """Return operations with all that they wait for."""
    seen, waiting = set(fetched), list(fetched)
    while waiting:
        op = waiting.pop()
        for other in (*(tensor.op for tensor in op.inputs), *op.control_inputs):
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return seen


def inputs_of(op: Any) -> list[tuple[str, Any]]:
    """Return the inputs of an operation with their names; they are single tensors."""
    return list(zip((argument.name for argument in op.op_def.input_arg), op.inputs))  # noqa: B905


def handle_of(variable: Any) -> Any:
    """Return the operation that a variable is in the graph."""
    return getattr(variable, "handle", variable).op


def written_by(op: Any) -> Any:
    """Return the operation of the variable that an operation writes."""
    variable = op.inputs[0].op
    while variable.type in THROUGH and variable.inputs:
        variable = variable.inputs[0].op
    return variable


def is_random(kind: str) -> bool:
    """Whether operations of a type draw random numbers."""
    return any(word in kind for word in ("Random", "Truncated", "Shuffle", "Multinomial"))


class SessionWatch:
    """Records what the runs of sessions do."""

    def __init__(self, records: Records, perturb: bool) -> None:
        self._records, self._perturb = records, perturb
        self._within = False
        self._plans: dict[Any, UpdatePlan] = {}
        self._drawn: dict[Any, tuple[int, bool]] = {}
        self._kinds: list[list[str]] = []

    def run(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Record an update, or draw the weights that a run created."""

        @functools.wraps(original)
        def run(session: Any, fetches: Any, *args: Any, **kwargs: Any) -> Any:
            if self._within or not self._records.here():
                return original(session, fetches, *args, **kwargs)
            self._within = True
            try:
                with session.graph.as_default():
                    plan = self._plan(session.graph, fetches)
                    if plan is not None and plan.updated:
                        return self._update(original, session, plan, fetches, args, kwargs)
                    fetched = original(session, fetches, *args, **kwargs)
                    if plan is not None and not plan.restores:
                        draw(session, plan.created)
                    return fetched
            finally:
                self._within = False

        return run

    def _plan(self, graph: Any, fetches: Any) -> UpdatePlan | None:
        try:
            handler = sessions._FetchHandler(graph, fetches, {})
        except (TypeError, ValueError, KeyError, RuntimeError):
            return None  # the session says it itself
        fetched = [*handler.targets(), *(tensor.op for tensor in handler.fetches())]
        key = (graph, frozenset(fetched))
        if key not in self._plans:
            self._plans[key] = UpdatePlan(graph, fetched)
        return self._plans[key]

    def _update(
        self, original: Any, session: Any, plan: UpdatePlan, fetches: Any, args: Any, kwargs: Any
    ) -> Any:
        weights = list(plan.updated)
        if self._perturb:
            for weight, value in zip(weights, original(session, weights)):  # noqa: B905
                weight.load(moved(value), session)
        before = original(session, weights)
        wanted = {
            (n, part): tensor
            for n, pair in enumerate(plan.extra(session.graph))
            for part, tensor in enumerate(pair)
            if tensor is not None
        }
        result, values = original(session, [fetches, wanted], *args, **kwargs)
        after = original(session, weights)
        self._records.final = lambda: [summary(flat(value)) for value in original(session, weights)]
        self._record(plan, session.graph, before, after, values)
        return result

    def _record(self, plan: UpdatePlan, graph: Any, before: Any, after: Any, values: Any) -> None:
        if not self._kinds:
            self._record_framework()
        if plan.kinds not in self._kinds:
            self._kinds.append(plan.kinds)
        numbers = range(len(before))
        settings = [
            {"tensors": 1, **({"lr": float(values[n, 1])} if (n, 1) in values else {})}
            for n in numbers
        ]
        gradients = [summary(flat(values[n, 0])) if (n, 0) in values else None for n in numbers]
        types = {value.dtype.name for value in before}
        self._records.attempt(
            {
                "optimizer": self._kinds.index(plan.kinds),
                "class": ", ".join(plan.kinds),
                "skipped": False,
                "backwards": 1,
                "scale": None,
                "settings": settings,
                "clips": [],
                "gradients": gradients,
                "changes": [summary(flat(after[n]) - flat(before[n])) for n in numbers],
                "types": sorted(types),
                "draws": plan.draws or self._shuffles(graph),
            }
        )

    def _shuffles(self, graph: Any) -> bool:
        """Whether the input of a graph draws random numbers."""
        version = graph.version
        if self._drawn.get(graph, (-1, False))[0] != version:
            definition = graph.as_graph_def()
            nodes = [*definition.node]
            for function in definition.library.function:
                nodes += function.node_def
            self._drawn[graph] = (version, any("Shuffle" in node.op for node in nodes))
        return self._drawn[graph][1]

    def _record_framework(self) -> None:
        """Record what this runs with."""
        self._records.write(
            {
                "kind": "framework",
                "name": "tensorflow",
                "version": f"tensorflow {tf.__version__}",
                "device": "gpu" if tf.test.is_built_with_cuda() and _gpus() else "cpu",
                "forced": False,
                "sessions": True,
            }
        )


def _gpus() -> bool:
    return bool(tf.config.experimental.list_physical_devices("GPU"))


def draw(session: Any, variables: list[Any]) -> None:
    """Give the weights that an initializer drew values that every version can draw."""
    weights = set(session.graph.get_collection("trainable_variables"))
    for variable in variables:
        if variable not in weights:
            continue
        value = session.run(variable)
        random = any(is_random(op.type) for op in above([variable.initializer]))
        constant = value.size < 2 or np.all(value == value.reshape(-1)[0])
        if value.dtype.kind != "f" or (constant and not random):
            continue
        numbers = np.random.RandomState(zlib.crc32(variable.op.name.encode()) ^ SEED)
        size = min(0.1, float(np.prod(value.shape[:-1]) or 1) ** -0.5)
        variable.load(numbers.uniform(-size, size, value.shape).astype(value.dtype), session)


def flat(value: Any) -> Any:
    """Return the elements of an array, float64."""
    return np.asarray(value, np.float64).reshape(-1)


def moved(value: Any) -> Any:
    """Return an array that is changed by what rounding changes."""
    elements = flat(value)
    size = float(np.sqrt(np.mean(elements * elements))) if len(elements) else 0.0
    shift = (ROUNDING * size * pattern(len(elements))).reshape(value.shape)
    return (value + shift).astype(value.dtype)


def watch_sessions(records: Records, *, perturb: bool) -> None:
    """Watch the sessions of this process, and fix the random numbers of its graphs."""
    watch = SessionWatch(records, perturb)
    sessions.BaseSession.run = watch.run(sessions.BaseSession.run)
    original = framework.Graph.__init__

    @functools.wraps(original)
    def seeded(graph: Any, *args: Any, **kwargs: Any) -> None:
        original(graph, *args, **kwargs)
        graph._seed = SEED

    framework.Graph.__init__ = seeded
