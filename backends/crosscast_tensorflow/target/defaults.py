"""Defaults of TensorFlow and Keras by version, read by tests/probes/tensorflow/test_defaults.py.

Up to TensorFlow 2.15 `tensorflow.keras` is Keras 2, from 2.16 on it is the package `keras`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from crosscast.targets.defaults import Defaults, Value

_RAN = {
    "keras": ("3.15.1",),
    "tensorflow": ("2.21.0", "2.15.1", "2.10.1", "2.5.3"),
    "tf_keras": ("2.21.0",),
}
"""Versions on which the probe ran over the whole table."""

_MACHINE: Mapping[str, Value] = {
    "loss_scaling.growth_factor": 2.0,
    "loss_scaling.backoff_factor": 0.5,
    "loss_scaling.hysteresis": 1,
}
_NO_BOUNDS: Mapping[str, Value] = {
    **_MACHINE,
    "loss_scaling.min_scale": None,
    "loss_scaling.max_scale": None,
}
_FLOOR: Mapping[str, Value] = {**_MACHINE, "loss_scaling.min_scale": 1.0}
_EPS_HAT: Mapping[str, Value] = {"optimizer.eps_placement": "before_correction"}
_RATE_INSIDE: Mapping[str, Value] = {"optimizer.rate_in_momentum": True}
_BETAS: Mapping[str, Value] = {"beta_1": 0.9, "beta_2": 0.999}
_ADAM: Mapping[str, Value] = {"learning_rate": 0.001, **_BETAS, "epsilon": 1e-7, "amsgrad": False}
_SGD: Mapping[str, Value] = {"learning_rate": 0.01, "momentum": 0.0, "nesterov": False}
_COSINE: Mapping[str, Value] = {"alpha": 0.0, "warmup_target": None, "warmup_steps": 0}


def _entry(
    package: str,
    api: str,
    source: str,
    arguments: Mapping[str, Value],
    *,
    since: str = "",
    until: str = "",
    form: str = "",
    fixed: Mapping[str, Value] | None = None,
    note: str = "",
) -> Defaults:
    entry = Defaults(
        api=api,
        package=package,
        since=since,
        until=until,
        form=form,
        arguments=arguments,
        fixed=fixed or {},
        source=source,
        note=note,
    )
    return entry.measured_on(_RAN[package])


def _keras(
    name: str,
    file: str,
    arguments: Mapping[str, Value],
    fixed: Mapping[str, Value] | None = None,
    since: str = "3.0",
    note: str = "",
) -> Defaults:
    source = f"keras/src/{file}"
    return _entry("keras", f"keras.{name}", source, arguments, since=since, fixed=fixed, note=note)


def _keras2(
    name: str,
    file: str,
    arguments: Mapping[str, Value],
    *,
    since: str = "2.4",
    until: str = "2.16",
    form: str = "",
    fixed: Mapping[str, Value] | None = None,
    tf_keras: bool = True,
    note: str = "",
) -> tuple[Defaults, ...]:
    """Return the entry for tensorflow.keras, and the one for the package tf_keras."""
    both = [("tensorflow", "tensorflow.keras", since, until)]
    both += [("tf_keras", "tf_keras", "2.14", "")] if tf_keras else []
    return tuple(
        _entry(
            package,
            f"{prefix}.{name}",
            f"tf_keras/src/{file}",
            arguments,
            since=first,
            until=last,
            form=form,
            fixed=fixed,
            note=note,
        )
        for package, prefix, first, last in both
    )


_KERAS_3 = (
    _keras(
        "optimizers.LossScaleOptimizer",
        "optimizers/loss_scale_optimizer.py",
        {"initial_scale": 2.0**15, "dynamic_growth_steps": 2000},
        _NO_BOUNDS,
    ),
    _keras(
        "optimizers.SGD",
        "optimizers/sgd.py",
        {**_SGD, "weight_decay": None},
        _RATE_INSIDE,
        note="weight_decay is decoupled",
    ),
    _keras(
        "optimizers.Adam",
        "optimizers/adam.py",
        {**_ADAM, "weight_decay": None},
        _EPS_HAT,
        note="weight_decay is decoupled",
    ),
    _keras("optimizers.AdamW", "optimizers/adamw.py", {**_ADAM, "weight_decay": 0.004}, _EPS_HAT),
    _keras(
        "optimizers.Lamb",
        "optimizers/lamb.py",
        {"learning_rate": 0.001, **_BETAS, "epsilon": 1e-7, "weight_decay": None},
        since="3.5",
        note="weight_decay is outside of the trust ratio",
    ),
    _keras(
        "optimizers.Lion",
        "optimizers/lion.py",
        {"learning_rate": 0.001, "beta_1": 0.9, "beta_2": 0.99, "weight_decay": None},
    ),
    _keras(
        "optimizers.Adafactor",
        "optimizers/adafactor.py",
        {
            "learning_rate": 0.001,
            "beta_2_decay": -0.8,
            "epsilon_1": 1e-30,
            "epsilon_2": 0.001,
            "clip_threshold": 1.0,
            "relative_step": True,
            "weight_decay": None,
        },
    ),
    _keras(
        "layers.LayerNormalization",
        "layers/normalization/layer_normalization.py",
        {"epsilon": 0.001, "axis": -1},
    ),
    _keras("activations.gelu", "activations/activations.py", {"approximate": False}),
    _keras("ops.gelu", "ops/nn.py", {"approximate": True}, note="tanh, unlike activations.gelu"),
    _keras("layers.Embedding", "layers/core/embedding.py", {"mask_zero": False}),
    _keras(
        "losses.SparseCategoricalCrossentropy",
        "losses/losses.py",
        {"from_logits": False, "ignore_class": None, "reduction": "sum_over_batch_size"},
    ),
    _keras(
        "Model.compile",
        "trainers/trainer.py",
        {"optimizer": "rmsprop", "jit_compile": "auto", "auto_scale_loss": True},
        note="auto_scale_loss wraps the optimizer if the model's policy is mixed_float16",
    ),
    _keras(
        "optimizers.schedules.PolynomialDecay",
        "optimizers/schedules/learning_rate_schedule.py",
        {"end_learning_rate": 0.0001, "power": 1.0, "cycle": False},
    ),
    _keras(
        "optimizers.schedules.CosineDecay",
        "optimizers/schedules/learning_rate_schedule.py",
        _COSINE,
        note="stays at alpha after decay_steps",
    ),
)

_KERAS_2 = chain(
    _keras2(
        "mixed_precision.LossScaleOptimizer",
        "mixed_precision/loss_scale_optimizer.py",
        {"dynamic": True, "initial_scale": 2.0**15, "dynamic_growth_steps": 2000},
        form="built",
        fixed=_FLOOR,
        note="iterations and schedules advance in skipped steps",
    ),
    _keras2("optimizers.SGD", "optimizers/sgd.py", _SGD, fixed=_RATE_INSIDE),
    _keras2("optimizers.Adam", "optimizers/adam.py", _ADAM, fixed=_EPS_HAT),
    _keras2(
        "optimizers.AdamW",
        "optimizers/adamw.py",
        {**_ADAM, "weight_decay": 0.004},
        since="2.12",
        fixed=_EPS_HAT,
    ),
    _keras2(
        "layers.LayerNormalization",
        "layers/normalization/layer_normalization.py",
        {"epsilon": 0.001, "axis": -1},
    ),
    _keras2("activations.gelu", "activations.py", {"approximate": False}),
    _keras2(
        "optimizers.schedules.PolynomialDecay",
        "optimizers/schedules/learning_rate_schedule.py",
        {"end_learning_rate": 0.0001, "power": 1.0, "cycle": False},
    ),
    _keras2(
        "optimizers.schedules.CosineDecay",
        "optimizers/schedules/learning_rate_schedule.py",
        {"alpha": 0.0},
        until="2.13",
        tf_keras=False,
    ),
    _keras2(
        "optimizers.schedules.CosineDecay",
        "optimizers/schedules/learning_rate_schedule.py",
        _COSINE,
        since="2.13",
    ),
)


def _v1(
    name: str,
    source: str,
    arguments: Mapping[str, Value],
    *,
    form: str = "",
    fixed: Mapping[str, Value] | None = None,
    since: str = "",
    note: str = "",
) -> Defaults:
    api, path = f"tensorflow.{name}", f"tensorflow/python/{source}"
    return _entry(
        "tensorflow", api, path, arguments, form=form, fixed=fixed, since=since, note=note
    )


_TENSORFLOW = (
    _v1(
        "compat.v1.mixed_precision.DynamicLossScale",
        "training/experimental/loss_scale.py",
        {"initial_loss_scale": 2.0**15, "increment_period": 2000, "multiplier": 2.0},
        fixed=_FLOOR,
        since="2.4",
        note="backs off by the same multiplier",
    ),
    _entry(
        "tensorflow",
        "tensorflow.contrib.mixed_precision.ExponentialUpdateLossScaleManager",
        "tensorflow/contrib/mixed_precision/python/loss_scale_manager.py at 813c55a9",
        {"decr_every_n_nan_or_inf": 2, "incr_ratio": 2.0, "decr_ratio": 0.8},
        fixed={"loss_scaling.min_scale": 1.0},
        until="2.0",
        note="overflows count until the scale changes, whatever comes between them",
    ),
    _v1(
        "compat.v1.mixed_precision.enable_mixed_precision_graph_rewrite",
        "training/experimental/mixed_precision.py",
        {"loss_scale": "dynamic"},
        since="2.4",
    ),
    _v1(
        "compat.v1.train.AdamOptimizer",
        "training/adam.py",
        {"learning_rate": 0.001, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8},
        note="epsilon before the bias correction, as in Keras",
    ),
    _v1("compat.v1.train.MomentumOptimizer", "training/momentum.py", {"use_nesterov": False}),
    _v1(
        "compat.v1.train.polynomial_decay",
        "training/learning_rate_decay.py",
        {"end_learning_rate": 0.0001, "power": 1.0, "cycle": False},
    ),
    _v1(
        "clip_by_global_norm",
        "ops/clip_ops.py",
        {"use_norm": None},
        fixed={"clipping.eps": 0.0},
    ),
    _v1("nn.gelu", "ops/nn_ops.py", {"approximate": False}, since="2.4"),
)

DEFAULTS: tuple[Defaults, ...] = (*_KERAS_3, *_KERAS_2, *_TENSORFLOW)
