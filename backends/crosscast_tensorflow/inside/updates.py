"""Record the inputs and updates of TensorFlow's Keras optimizers, since version 2.4.

What trains in sessions is recorded by `session_updates`, in version 1.15, too.

So that every update is seen, functions run eagerly. Half precision is computed in float32: policies
keep their names, and with them loss scales, but not their compute type (`forced` in the records).
Keras 2 and 3 draw initial weights otherwise; here both draw the same. Other random numbers of
layers and data sets are only noted (`draws`), for they cannot be compared.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from crosscast_parity.inside.updates import SEED, Records, stays_on_cpu
from crosscast_tensorflow.inside.keras_versions import (
    before_2_6,
    found_in,
    keras_2,
    keras_3,
    steps_of,
    summed,
    version_of,
)
from crosscast_tensorflow.inside.parts import Parts
from crosscast_tensorflow.inside.session_updates import watch_sessions
from crosscast_tensorflow.inside.summaries import ROUNDING, pattern, summary
from crosscast_tensorflow.inside.without_gpu import stay_on_cpu

SETTINGS = {"weight_decay": "weight_decay", "momentum": "momentum", "nesterov": "nesterov"}
SETTINGS.update(beta_1="beta_1", beta_2="beta_2", epsilon="eps", rho="rho", amsgrad="amsgrad")
CLIPS = {"global_clipnorm": "global_norm", "clipnorm": "per_param_norm", "clipvalue": "value"}
GENERATORS = (
    *("random.uniform", "random.normal", "random.truncated_normal", "random.shuffle"),
    *("random.stateless_uniform", "random.stateless_normal", "nn.dropout"),
    *("nn.experimental.stateless_dropout", "nn.experimental.general_dropout"),
)
"""Functions of TensorFlow that draw random numbers."""


def values(tensor: Any) -> Any:
    """Return the values of a tensor or variable, float64 and flat."""
    return np.asarray(tf.convert_to_tensor(tensor), np.float64).reshape(-1)


class Watch:
    """Records what happens between two steps, and what a step does."""

    def __init__(self, records: Records, perturb: bool, poison: Any) -> None:
        self._records, self._perturb, self._poison = records, perturb, poison
        self._optimizers: list[Any] = []
        self._variables: dict[int, list[Any]] = {}
        self._stepping: list[Any] = []
        self._within = False
        self._backwards = 0
        self._clips: list[dict[str, Any]] = []
        self._clipped: list[Any] | None = None
        self._scale: float | None = None
        self._draws = False
        self.installed = False
        between = records.between
        self.parts = Parts(between) if between is not None else None
        records.final = self._final

    def _final(self) -> list[Any]:
        return [summary(values(v)) for n in sorted(self._variables) for v in self._variables[n]]

    def draws(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Note that random numbers are drawn."""

        @functools.wraps(original)
        def draw(*args: Any, **kwargs: Any) -> Any:
            self._draws = True
            return original(*args, **kwargs)

        return draw

    def gradient(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Count gradient calls of tapes, except tapes that recompute."""

        @functools.wraps(original)
        def gradient(tape: Any, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
            if self._within or not self._records.here():
                return original(tape, target, sources, *args, **kwargs)
            self._within = True
            try:
                gradients = original(tape, target, sources, *args, **kwargs)
            finally:
                self._within = False
            if self._backwards == 0 and self._poison == self._records.attempts:
                gradients = tf.nest.map_structure(
                    lambda g: g if g is None else g * math.inf, gradients
                )
            self._backwards += 1
            if self._records.between is not None:
                self._records.between.backward()
            return gradients

        return gradient

    def clip_global(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Record clipping by the script; optimizers report their own."""

        @functools.wraps(original)
        def clip(gradients: Any, limit: Any, *args: Any, **kwargs: Any) -> Any:
            clipped, norm = original(gradients, limit, *args, **kwargs)
            if not self._stepping and self.parts is not None:
                self.parts.delivered(gradients)
            if not self._stepping:
                size = float(norm)
                self._clips.append({"kind": "global_norm", "limit": float(limit), "size": size})
            return clipped, norm

        return clip

    def own_clip(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Note the gradients that an optimizer goes on with."""

        @functools.wraps(original)
        def clip(optimizer: Any, gradients: Any, *args: Any, **kwargs: Any) -> Any:
            clipped = original(optimizer, gradients, *args, **kwargs)
            if self._stepping and self._stepping[-1] is optimizer:
                pairs = [pair[0] if isinstance(pair, tuple) else pair for pair in clipped]
                self._clipped = pairs
            return clipped

        return clip

    def step(self, original: Any, optimizer: Any, args: Any, kwargs: Any) -> Any:
        """Make a step and record it; one that scales records the attempt if nothing was made."""
        if any(stepping is optimizer for stepping in self._stepping) or not self._records.here():
            return original(optimizer, *args, **kwargs)
        inner = inner_of(optimizer)
        if self._makes_no_update(optimizer, inner):
            return original(optimizer, *args, **kwargs)
        self._stepping.append(optimizer)
        try:
            if inner is not None:
                return self._scaled(original, optimizer, inner, args, kwargs)
            return self._stepped(original, optimizer, args, kwargs)
        finally:
            self._stepping.remove(optimizer)

    def _makes_no_update(self, optimizer: Any, inner: Any) -> bool:
        """Whether an optimizer adds gradients up, or hands them on to one that does.

        Keras scales, checks and skips the single micro-batches of such a window.
        """
        many, between = steps_of(optimizer if inner is None else inner), self._records.between
        if many == 1:
            return False
        if between is not None and inner is not None:
            between.tell(unscaled="Keras scales single micro-batches: that was not exercised")
        if between is not None and self._clips:
            between.windows.end()  # they were clipped before they are added up
        return inner is not None or (int(optimizer._iterations) + 1) % many != 0

    def _scaled(self, original: Any, optimizer: Any, inner: Any, args: Any, kwargs: Any) -> Any:
        args = (list(args[0]), *args[1:])
        self._scale, attempts = scale_of(optimizer), self._records.attempts
        gradients, variables, _ = pairs_of(inner, args, kwargs)
        if self.parts is not None and self._records.between is not None:
            self.parts.delivered(gradients)
            self._records.between.tell(scaler=told_of_scaler(optimizer))
        try:
            result = original(optimizer, *args, **kwargs)
            if self._records.attempts == attempts:
                settings = self._settings(inner, variables) if variables else settings_of(inner, 1)
                self._write(inner, variables, variables, [], settings, skipped=True)
                self._attempted(inner, settings, [], [], skipped=True)
        finally:
            self._scale = None
        return result

    def _stepped(self, original: Any, optimizer: Any, args: Any, kwargs: Any) -> Any:
        passed = list(args[0])
        gradients, variables, paired = pairs_of(optimizer, (passed, *args[1:]), kwargs)
        whole = summed(optimizer, gradients, variables)
        if self.parts is not None:
            self.parts.delivered(whole)
        if self._perturb:
            gradients = [moved(gradient) for gradient in gradients]
            passed = list(zip(gradients, variables)) if paired else gradients  # noqa: B905
            whole = summed(optimizer, gradients, variables)
        before = [values(variable) for variable in variables]
        self._clipped = None
        settings = self._settings(optimizer, variables)
        held = (
            None if self.parts is None else [np.array(tf.convert_to_tensor(v)) for v in variables]
        )
        self._clips += clips_of(optimizer, whole)
        result = original(optimizer, passed, *args[1:], **kwargs)
        handed = whole if self._clipped is None else self._clipped
        changes = [summary(values(variable) - before[n]) for n, variable in enumerate(variables)]
        self._note_variables(optimizer, variables)
        self._write(optimizer, variables, held, handed, settings, skipped=False)
        summaries = [None if gradient is None else summary(values(gradient)) for gradient in handed]
        self._attempted(optimizer, settings, summaries, changes, skipped=False)
        return result

    def _settings(self, optimizer: Any, variables: list[Any]) -> list[dict[str, Any]]:
        settings = settings_of(optimizer, len(variables))
        return (
            settings if self.parts is None else self.parts.groups(optimizer, variables, settings[0])
        )

    def _write(
        self, optimizer: Any, variables: Any, before: Any, applied: Any, settings: Any, **more: Any
    ) -> None:
        if self.parts is not None:
            self.parts.write(
                variables,
                before,
                applied,
                lr=settings[0]["lr"],
                scale=self._scale,
                alone=all(known is optimizer for known in self._optimizers),
                **more,
            )

    def _note_variables(self, optimizer: Any, variables: list[Any]) -> None:
        self._variables[self._number(optimizer)] = variables

    def _number(self, optimizer: Any) -> int:
        if not self._optimizers:
            self._record_framework()
        if not any(known is optimizer for known in self._optimizers):
            self._optimizers.append(optimizer)
        return next(n for n, known in enumerate(self._optimizers) if known is optimizer)

    def _record_framework(self) -> None:
        """Record what this runs with; not before the script has chosen its devices."""
        versions = [version_of(package) for package in ("tensorflow", "keras", "tf_keras")]
        gpu = bool(tf.config.list_physical_devices("GPU"))
        self._records.write(
            {
                "kind": "framework",
                "name": "tensorflow",
                "version": ", ".join(versions),
                "device": "gpu" if gpu else "cpu",
                "forced": True,
            }
        )

    def _attempted(
        self, optimizer: Any, settings: Any, gradients: Any, changes: Any, *, skipped: bool
    ) -> None:
        clips, self._clips = self._clips, []
        backwards, self._backwards = self._backwards, 0
        draws, self._draws = self._draws, False
        between = self._records.between
        self._records.attempt(
            {
                **({} if between is None else {"micro": between.taken()}),
                "optimizer": self._number(optimizer),
                "class": type(optimizer).__name__,
                "skipped": skipped,
                "backwards": backwards,
                "scale": self._scale,
                "settings": settings,
                "clips": clips,
                "gradients": gradients,
                "changes": changes,
                "types": ["float32"],
                "draws": draws,
            }
        )


def inner_of(optimizer: Any) -> Any:
    """Return the optimizer that one that scales losses hands its gradients to."""
    if "LossScale" not in type(optimizer).__name__:
        return None
    return getattr(optimizer, "inner_optimizer", None) or getattr(optimizer, "_optimizer", None)


def pairs_of(optimizer: Any, args: Any, kwargs: Any) -> tuple[list[Any], list[Any], bool]:
    """Return gradients and variables of a call of an optimizer, and whether it got pairs."""
    first = args[0]
    if first and isinstance(first[0], tuple):
        return [gradient for gradient, _ in first], [variable for _, variable in first], True
    more = args[1] if len(args) > 1 else kwargs.get("trainable_variables")
    return first, list(more or optimizer._trainable_variables), False


def told_of_scaler(optimizer: Any) -> dict[str, Any]:
    """Return the settings of an optimizer that scales losses."""
    settings: dict[str, Any] = {"dynamic": bool(getattr(optimizer, "dynamic", True))}
    if settings["dynamic"]:
        steps = int(optimizer.dynamic_growth_steps)
        settings.update(growth_interval=steps, growth_factor=2.0, backoff_factor=0.5)
    return settings


def scale_of(optimizer: Any) -> float:
    """Return the loss scale of now."""
    scale: Any = getattr(optimizer, "dynamic_scale", None)
    if scale is None:
        scale = getattr(optimizer, "loss_scale", getattr(optimizer, "initial_scale", 1.0))
    scale = scale() if callable(scale) and not tf.is_tensor(scale) else scale
    return float(values(scale)[0])  # of a replica, where a strategy mirrors it


def settings_of(optimizer: Any, tensors: int) -> list[dict[str, Any]]:
    """Return the numbers of an optimizer: one group of all tensors."""
    settings: dict[str, Any] = {"tensors": tensors, "lr": rate_of(optimizer)}
    for name, setting in SETTINGS.items():
        try:
            value = getattr(optimizer, name)
        except AttributeError:
            continue
        if value is None or isinstance(value, bool):
            settings[setting] = value
        elif not callable(value) or tf.is_tensor(value):
            # Some versions keep them in float32.
            settings[setting] = float(np.float32(float(value)))
    if "beta_1" in settings and "beta_2" in settings:
        settings["betas"] = [settings.pop("beta_1"), settings.pop("beta_2")]
    return [settings]


def rate_of(optimizer: Any) -> float:
    """Return the learning rate of the next update."""
    decayed = getattr(optimizer, "_decayed_lr", None)
    if decayed is not None:
        return float(decayed(tf.float32))
    rate = getattr(optimizer, "_learning_rate", optimizer.learning_rate)
    if callable(rate) and hasattr(rate, "get_config"):
        single = steps_of(optimizer) == 1
        rate = rate(optimizer.iterations if single else optimizer._iterations)
    return float(values(rate)[0]) if not isinstance(rate, float) else rate


def clips_of(optimizer: Any, gradients: Any) -> list[dict[str, Any]]:
    """Return the clippings of an optimizer, with the sizes of the gradients."""
    arrays = [values(gradient) for gradient in gradients if gradient is not None]
    norms = [math.sqrt(float(np.sum(array * array))) for array in arrays] or [0.0]
    sizes = {
        "global_norm": math.sqrt(sum(norm * norm for norm in norms)),
        "per_param_norm": max(norms),
        "value": max([float(np.max(np.abs(array))) for array in arrays if len(array)] or [0.0]),
    }
    clips = []
    for name, kind in CLIPS.items():
        limit = getattr(optimizer, name, None)
        if limit is not None:
            clips.append({"kind": kind, "limit": float(limit), "size": sizes[kind]})
    return clips


def moved(tensor: Any) -> Any:
    """Return a tensor that is changed by what rounding changes."""
    if tensor is None or isinstance(tensor, tf.IndexedSlices):
        return tensor
    flat = values(tensor)
    size = float(np.sqrt(np.mean(flat * flat))) if len(flat) else 0.0
    shift = ROUNDING * size * pattern(len(flat))
    return tensor + tf.cast(tf.reshape(tf.constant(shift), tensor.shape), tensor.dtype)


_watches: list[Watch] = []


def install(records: Records, name: str, *, perturb: bool, poison: Any) -> None:
    """Watch this process; `name` is that of the module that was imported."""
    if not _watches:
        watch = Watch(records, perturb, poison)
        _watches.append(watch)
        watch_sessions(records, perturb=perturb)
        if stays_on_cpu():
            stay_on_cpu()
    (watch,) = _watches
    if tf.__version__.startswith("1."):
        return
    if not watch.installed:
        watch.installed = True
        tf.random.set_seed(SEED)
        if watch.parts is not None:
            watch.parts.install()
        tf.config.run_functions_eagerly(True)
        tf.GradientTape.gradient = watch.gradient(tf.GradientTape.gradient)
        tf.clip_by_global_norm = watch.clip_global(tf.clip_by_global_norm)
        for path in GENERATORS:
            *places, function = path.split(".")
            module: Any = functools.reduce(lambda at, part: getattr(at, part, None), places, tf)
            if hasattr(module, function):
                setattr(module, function, watch.draws(getattr(module, function)))
        if found_in("tensorflow.python.keras", "optimizer_v2.optimizer_v2") and before_2_6():
            keras_2("tensorflow.python.keras", watch)
    if name == "keras" and str(sys.modules[name].__version__).startswith("3."):
        keras_3(watch)
    elif name in ("keras", "tf_keras"):
        keras_2(f"{name}.src" if found_in(name, "src") else name, watch)
