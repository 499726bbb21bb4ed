"""What a TensorFlow program does between two updates: calls of models, seeds, policies.

Layers are wrapped where they are called; nothing is computed otherwise.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from crosscast_parity.inside.between import Between

NORMS = ("layer_norm", "layernorm", "rms_norm", "rmsnorm")
"""Parts of the names of layers that normalize the values of a row."""
BIASES = ("bias", "beta")
LAYERS = ("layers.layer", "engine.base_layer")
"""Where versions of Keras define what all layers are."""


class Parts:
    """The models that a program calls, and the tensors of its updates."""

    def __init__(self, between: Between) -> None:
        self._between = between
        self._depth = 0
        self._total: list[Any] | None = None

    def install(self) -> None:
        """Wrap what TensorFlow itself offers."""
        original, between = tf.random.set_seed, self._between

        @functools.wraps(original)
        def set_seed(seed: Any) -> Any:
            if isinstance(seed, int):
                between.tell(seed=seed)
            return original(seed)

        tf.random.set_seed = set_seed

    def watch_layers(self, root: str) -> None:
        """Look at every call of a layer of a version of Keras."""
        for name in LAYERS:
            try:
                kind = importlib.import_module(f"{root}.{name}").Layer
            except (ImportError, AttributeError):
                continue
            kind.__call__ = self._watch_calls(kind.__call__)
            return

    def _watch_calls(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(layer: Any, *args: Any, **kwargs: Any) -> Any:
            if self._depth == 0 and kwargs.get("training") is not False:
                count = rows_of([*args, *kwargs.values()])
                if count:
                    self._between.rows(count)
            self._depth += 1
            try:
                return original(layer, *args, **kwargs)
            finally:
                self._depth -= 1

        return call

    def delivered(self, gradients: Any) -> None:
        """Keep gradients before anything is done to them; the first since the last update."""
        if self._total is None:
            self._total = list(gradients)

    def groups(self, optimizer: Any, variables: list[Any], settings: dict[str, Any]) -> Any:
        """Return the settings of one group for all variables, or of two if some do not decay."""
        decay = settings.get("weight_decay")
        if decay is not None:
            settings = {**settings, "decoupled_weight_decay": True}
        uses = getattr(optimizer, "_use_weight_decay", None)
        numbers = [int(bool(decay) and uses is not None and not uses(v)) for v in variables]
        self._note_parameters(variables, numbers)
        if not any(numbers):
            return [settings]
        spared = {**settings, "weight_decay": 0.0, "tensors": sum(numbers)}
        return [{**settings, "tensors": len(variables) - sum(numbers)}, spared]

    def _note_parameters(self, variables: list[Any], numbers: list[int]) -> None:
        named = [
            {"name": name, "roles": roles_of(name), "group": number}
            for name, number in zip(names_of(variables), numbers)  # noqa: B905
        ]
        self._between.tell(parameters=named, weights=sorted({kind_of(v) for v in variables}))
        policy = policy_name()
        if policy.startswith("mixed_"):
            self._between.add("autocasts", policy[len("mixed_") :])

    def write(
        self,
        variables: list[Any],
        before: list[Any],
        applied: list[Any],
        *,
        lr: float,
        scale: float | None,
        skipped: bool,
        alone: bool,
    ) -> None:
        """Write the tensors of an attempt at an update.

        Args:
            variables: what is updated.
            before: their values before it.
            applied: the gradients that the optimizer goes on with.
            lr: the learning rate.
            scale: of the loss; None without one.
            skipped: whether no update was made.
            alone: whether no other optimizer has made one.
        """
        total, self._total = self._total, None
        self._depth = 0
        windows, names = self._between.windows, names_of(variables)
        if not alone or total is None or len(total) != len(variables):
            windows.end()
        if total is None or not windows.wanted(sum(int(np.prod(v.shape)) for v in variables)):
            return
        windows.write(
            {
                "before": arrays(names, before),
                "after": arrays(names, variables),
                "total": arrays(names, total),
                "applied": {} if skipped else arrays(names, applied),
            },
            micro=self._between.seen(),
            lr=lr,
            scale=1.0 if scale is None else scale,
            skipped=skipped,
        )


def rows_of(values: Any) -> int:
    """Return the rows of the first tensor among the inputs of a layer; 0 if there is none."""
    for value in tf.nest.flatten(list(values)):
        shape = getattr(value, "shape", None)
        if shape is not None and len(shape) and shape[0]:
            return int(shape[0])
    return 0


def names_of(variables: list[Any]) -> list[str]:
    """Return a name for each variable, all different."""
    names: list[str] = []
    for variable in variables:
        name = str(getattr(variable, "path", None) or variable.name).partition(":")[0]
        while name in names:
            name += "_"
        names.append(name)
    return names


def roles_of(name: str) -> list[str]:
    """Return the roles of a variable by the names of its layers and its own."""
    *layers, last = name.split("/")
    roles = ["bias"] if last in BIASES or "bias" in last.split("_") else []
    if any(part in layer.lower() for layer in layers[-1:] for part in NORMS):
        roles.append("layer_norm")
    if last == "embeddings":
        roles.append("embedding")
    return roles


def kind_of(variable: Any) -> str:
    """Return the name of a variable's type."""
    return str(getattr(variable.dtype, "name", variable.dtype))


def policy_name() -> str:
    """Return the name of the global policy of the Keras that is imported; empty without one."""
    for name in ("keras", "tf_keras"):
        keras = sys.modules.get(name)
        policies = getattr(keras, "mixed_precision", None)
        for function in ("global_policy", "dtype_policy"):
            policy = getattr(policies, function, None)
            if policy is not None and str(policy().name).startswith("mixed_"):
                return str(policy().name)
    return ""


def arrays(names: list[str], tensors: Any) -> dict[str, Any]:
    """Return tensors as arrays by name; without those that are not there."""
    pairs = zip(names, tensors)  # noqa: B905
    return {n: np.array(tf.convert_to_tensor(t), np.float32) for n, t in pairs if t is not None}
