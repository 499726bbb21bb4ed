"""Locations of the watched functions in versions of Keras, and their replacements."""

from __future__ import annotations

import functools
import importlib
import sys
from typing import Any

import numpy as np
import tensorflow as tf

from crosscast_parity.inside.updates import SEED, wrap_step

OPTIMIZERS = (
    *("optimizer_v2.optimizer_v2", "optimizers.optimizer_v2.optimizer_v2"),
    *("optimizers.legacy.optimizer_v2", "optimizers.optimizer_experimental.optimizer"),
    "optimizers.optimizer",
)
"""Where versions of Keras 2 have their optimizers."""


class Draws:
    """Initial weights, drawn alike for every version of Keras, in order."""

    count = 0

    def __init__(self, seed: Any = None, **ignored: Any) -> None:
        self._seed = seed

    def _random(self) -> Any:
        Draws.count += 1
        return np.random.RandomState(SEED + Draws.count)

    def random_normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = None,
        *more: Any,
        **named: Any,
    ) -> Any:
        """Draw from a normal distribution."""
        return self._cast_to(self._random().normal(mean, stddev, tuple(shape)), dtype)

    def random_uniform(
        self,
        shape: Any,
        minval: Any = 0.0,
        maxval: Any = 1.0,
        dtype: Any = None,
        *more: Any,
        **named: Any,
    ) -> Any:
        """Draw from an interval."""
        return self._cast_to(self._random().uniform(minval, maxval, tuple(shape)), dtype)

    def truncated_normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = None,
        *more: Any,
        **named: Any,
    ) -> Any:
        """Draw from a normal distribution within two deviations."""
        drawn = np.clip(self._random().normal(0.0, 1.0, tuple(shape)), -2.0, 2.0)
        return self._cast_to(mean + stddev * drawn, dtype)

    def _cast_to(self, drawn: Any, dtype: Any) -> Any:
        return tf.cast(drawn, dtype or "float32")


def wrap_made(kind: Any, method: str, watch: Any) -> None:
    """Have the steps of all optimizers recorded, whatever their class."""
    original = kind.__init__

    @functools.wraps(original)
    def made(optimizer: Any, *args: Any, **kwargs: Any) -> None:
        original(optimizer, *args, **kwargs)
        wrap_step(type(optimizer), method, watch)

    kind.__init__ = made


def found_in(root: str, name: str) -> Any:
    """Return a module, None if this version has none of that name."""
    try:
        return importlib.import_module(f"{root}.{name}")
    except ImportError:
        return None


def in_float32(policy: Any) -> None:
    """Have policies compute in float32, whatever their name."""
    original = policy._parse_name

    @functools.wraps(original)
    def parse(self: Any, name: Any) -> Any:
        compute, variable = original(self, name)
        half = compute in ("float16", "bfloat16") and variable == "float32"
        return ("float32" if half else compute), variable

    policy._parse_name = parse


def keras_2(root: str, watch: Any) -> None:
    """Watch the optimizers of Keras 2."""
    if watch.parts is not None:
        watch.parts.watch_layers(root)
    for name in OPTIMIZERS:
        module = found_in(root, name)
        for kind in ("OptimizerV2", "_BaseOptimizer"):
            base = getattr(module, kind, None)
            if base is not None:
                wrap_made(base, "apply_gradients", watch)
                for clip in ("_transform_gradients", "_clip_gradients"):
                    if hasattr(base, clip):
                        setattr(base, clip, watch.own_clip(getattr(base, clip)))
    scalers = found_in(root, "mixed_precision.loss_scale_optimizer")
    for kind in ("LossScaleOptimizer", "LossScaleOptimizerV1", "LossScaleOptimizerV3"):
        scaler = getattr(scalers, kind, None)
        if scaler is not None and hasattr(scaler, "apply_gradients"):
            wrap_step(scaler, "apply_gradients", watch)
    in_float32(found_in(root, "mixed_precision.policy").Policy)
    for name in ("initializers.initializers_v2", "initializers.initializers"):
        module = found_in(root, name)
        if hasattr(module, "_RandomGenerator"):
            module._RandomGenerator = Draws
        elif hasattr(module, "backend"):
            module.backend = Instead(module.backend, RandomGenerator=Draws)


def keras_3(watch: Any) -> None:
    """Watch the optimizers of Keras 3."""
    if watch.parts is not None:
        watch.parts.watch_layers("keras.src")
    base = importlib.import_module("keras.src.optimizers.base_optimizer").BaseOptimizer
    wrap_made(base, "apply", watch)
    base._clip_gradients = watch.own_clip(base._clip_gradients)
    scaler = importlib.import_module("keras.src.optimizers.loss_scale_optimizer")
    wrap_step(scaler.LossScaleOptimizer, "apply", watch)
    policies = importlib.import_module("keras.src.dtype_policies.dtype_policy")
    in_float32(policies.DTypePolicy)
    module: Any = importlib.import_module("keras.src.initializers.random_initializers")
    draws = Draws()
    module.random = Instead(
        module.random,
        normal=draws.random_normal,
        uniform=draws.random_uniform,
        truncated_normal=draws.truncated_normal,
    )


def steps_of(optimizer: Any) -> int:
    """Return how many calls of an optimizer of Keras 3 make one update."""
    return int(getattr(optimizer, "gradient_accumulation_steps", None) or 1)


def summed(optimizer: Any, gradients: list[Any], variables: list[Any]) -> list[Any]:
    """Return the gradients of the window that a call completes: the mean over its calls."""
    many = steps_of(optimizer)
    if many == 1:
        return gradients
    held = [optimizer._accumulated_gradients[optimizer._get_variable_index(v)] for v in variables]
    pairs = zip(gradients, held)  # noqa: B905
    return [None if g is None else (g + tf.convert_to_tensor(h)) / many for g, h in pairs]


def version_of(name: str) -> str:
    """Return the version of a package that is imported."""
    return f"{name} {getattr(sys.modules.get(name), '__version__', 'is not there')}"


def before_2_6() -> bool:
    """Whether this TensorFlow has a Keras of its own."""
    return tuple(map(int, tf.__version__.split(".")[:2])) < (2, 6)


class Instead:
    """A module with some names replaced."""

    def __init__(self, module: Any, **names: Any) -> None:
        self._module = module
        self.__dict__.update(names)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)
