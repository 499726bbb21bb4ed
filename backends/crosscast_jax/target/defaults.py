"""Defaults of optax, Flax and JAX by version, read by tests/probes/jax/test_defaults.py.

Those of older releases were read in their sources: optax 0.0.9, 0.1.0, 0.1.5, 0.1.9, 0.2.0, 0.2.3
and 0.2.6, flax 0.3.6, 0.6.0, 0.8.0, 0.10.0 and 0.11.0.
"""

from __future__ import annotations

from collections.abc import Mapping

from crosscast.targets.defaults import Defaults, Value

_RAN = {
    "optax": ("0.2.8", "0.2.7", "0.2.6", "0.2.5", "0.2.4", "0.2.3"),
    "flax": (
        "0.12.8",
        "0.12.7",
        "0.12.6",
        "0.12.2",
        "0.12.1",
        "0.12.0",
        "0.10.7",
        "0.10.2",
        "0.9.0",
    ),
    "jax": ("0.10.2", "0.10.0", "0.9.2", "0.8.2", "0.8.1", "0.7.2", "0.6.2", "0.4.35", "0.4.31"),
}
"""Versions on which the probe ran over the whole table."""
_BETAS: Mapping[str, Value] = {"b1": 0.9, "b2": 0.999}
_PLAIN: Mapping[str, Value] = {"optimizer.weight_decay": 0.0}
_SCALE: Mapping[str, Value] = {
    "growth_factor": 2.0,
    "backoff_factor": 0.5,
    "growth_interval": 2000,
    "scale": 65536.0,
}
_LATE = "the scale grows after one clean step more than the interval says"


def _entry(
    api: str,
    source: str,
    arguments: Mapping[str, Value],
    fixed: Mapping[str, Value] | None = None,
    *,
    since: str,
    until: str = "",
    note: str = "",
) -> Defaults:
    package = api.partition(".")[0]
    entry = Defaults(
        api=api,
        package=package,
        since=since,
        until=until,
        arguments=arguments,
        fixed=fixed or {},
        source=source,
        note=note,
    )
    return entry.measured_on(_RAN[package])


def _optimizer(
    name: str,
    arguments: Mapping[str, Value],
    fixed: Mapping[str, Value] | None = None,
    *,
    since: str = "0.0.9",
    note: str = "",
) -> Defaults:
    return _entry(f"optax.{name}", "optax/_src/alias.py", arguments, fixed, since=since, note=note)


def _norms(package: str, source: str, since: str) -> tuple[Defaults, ...]:
    """Return the normalization layers of one of Flax' two interfaces."""
    fast: Mapping[str, Value] = {"epsilon": 1e-6, "use_fast_variance": True}
    batch: Mapping[str, Value] = {"epsilon": 1e-5, "momentum": 0.99}
    return (
        _entry(f"flax.{package}.LayerNorm", source, fast, since=since),
        _entry(f"flax.{package}.GroupNorm", source, {"epsilon": 1e-6}, since=since),
        _entry(f"flax.{package}.RMSNorm", source, fast, since=since),
        _entry(
            f"flax.{package}.BatchNorm",
            source,
            batch,
            since=since,
            note="the share of the old value; PyTorch's momentum is the share of the new one",
        ),
    )


DEFAULTS: tuple[Defaults, ...] = (
    _optimizer("adam", {**_BETAS, "eps": 1e-8, "eps_root": 0.0}, _PLAIN),
    _optimizer("adamw", {**_BETAS, "eps": 1e-8, "eps_root": 0.0, "weight_decay": 1e-4}),
    _optimizer("sgd", {"momentum": None, "nesterov": False}, _PLAIN),
    _optimizer("lamb", {**_BETAS, "eps": 1e-6, "eps_root": 0.0, "weight_decay": 0.0}),
    _optimizer("lion", {"b1": 0.9, "b2": 0.99, "weight_decay": 1e-3}, since="0.1.5"),
    _optimizer("lars", {"weight_decay": 0.0, "momentum": 0.9, "trust_coefficient": 0.001}),
    _optimizer("radam", {**_BETAS, "eps": 1e-8, "threshold": 5.0}),
    _optimizer(
        "rmsprop",
        {"decay": 0.9, "eps": 1e-8, "initial_scale": 0.0, "centered": False, "momentum": None},
        note="epsilon is added below the root",
    ),
    _optimizer("adagrad", {"initial_accumulator_value": 0.1, "eps": 1e-7}),
    _optimizer(
        "adafactor",
        {
            "min_dim_size_to_factor": 128,
            "decay_rate": 0.8,
            "multiply_by_parameter_scale": True,
            "clipping_threshold": 1.0,
            "weight_decay_rate": None,
            "eps": 1e-30,
        },
        note="another algorithm than a recipe's: CC415",
    ),
    _entry(
        "optax.clip_by_global_norm",
        "optax/transforms/_clipping.py",
        {},
        {"clipping.eps": 0.0},
        since="0.0.9",
    ),
    _entry(
        "optax.MultiSteps",
        "optax/transforms/_accumulation.py",
        {"use_grad_mean": True},
        since="0.0.9",
    ),
    _entry(
        "optax.warmup_cosine_decay_schedule",
        "optax/schedules/_schedule.py",
        {"end_value": 0.0, "exponent": 1.0},
        since="0.2.0",
        note="decay_steps counts the warm-up, too",
    ),
    _entry(
        "optax.cosine_decay_schedule",
        "optax/schedules/_schedule.py",
        {"alpha": 0.0, "exponent": 1.0},
        since="0.2.0",
    ),
    _entry(
        "flax.training.dynamic_scale.DynamicScale",
        "flax/training/dynamic_scale.py",
        {**_SCALE, "minimum_scale": 2.0**-126},
        {"loss_scaling.hysteresis": 1},
        since="0.8.0",
        note=f"{_LATE}; minimum_scale is the smallest normal float32",
    ),
    _entry(
        "flax.optim.DynamicScale",
        "flax/optim/dynamic_scale.py",
        _SCALE,
        {"loss_scaling.hysteresis": 1, "loss_scaling.min_scale": None},
        since="0.3.6",
        until="0.6.0",
        note=_LATE,
    ),
    *_norms("nnx", "flax/nnx/nn/normalization.py", "0.9.0"),
    *_norms("linen", "flax/linen/normalization.py", "0.8.0"),
    _entry("jax.nn.gelu", "jax/_src/nn/functions.py", {"approximate": True}, since="0.4.31"),
)
