"""Hypothesis strategies that several test modules share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
from hypothesis import strategies as st

from crosscast.plan import operations as ops
from crosscast.reference.interpreter import MicroBatch

SHAPES = {"dense.weight": (2, 3), "dense.bias": (2,), "norm.weight": (3,)}
ROLES = {"dense.bias": frozenset({"bias"}), "norm.weight": frozenset({"layer_norm"})}

DTYPES: tuple[ops.Dtype, ...] = ("float32", "float16", "bfloat16")
positive = st.floats(1e-3, 1e3)


@st.composite
def steps(draw: st.DrawFn) -> ops.Step:
    """Any optimizer with hyper-parameters that keep a short run finite."""
    roles: tuple[tuple[ops.Role, ...], ...] = ((), ("bias",), ("bias", "layer_norm"))
    group = ops.Group(parameters=("dense.*",), weight_decay=0.05, rate_factor=0.5)
    common: dict[str, Any] = {
        "weight_decay": draw(st.sampled_from((0.0, 0.01, 0.1))),
        "no_decay": draw(st.sampled_from(roles)),
        "groups": draw(st.sampled_from(((), (group,)))),
    }
    if draw(st.booleans()):
        momentum = draw(st.sampled_from((0.0, 0.5, 0.9)))
        return ops.Step(
            optimizer="sgd",
            momentum=momentum,
            nesterov=momentum > 0 and draw(st.booleans()),
            rate_in_momentum=momentum > 0 and draw(st.booleans()),
            **common,
        )
    return ops.Step(
        optimizer=draw(st.sampled_from(("adam", "adamw", "lamb", "lion", "adafactor"))),
        betas=draw(st.sampled_from(((0.9, 0.999), (0.5, 0.9)))),
        eps=draw(st.sampled_from((1e-8, 1e-6, 1e-3))),
        eps_placement=draw(st.sampled_from(("after_correction", "before_correction"))),
        bias_correction=draw(st.booleans()),
        always_adapt=draw(st.booleans()),
        **common,
    )


@st.composite
def clips(draw: st.DrawFn) -> ops.Clip:
    """Any clipping, with limits on both sides of usual norms."""
    limit = draw(positive)
    eps = draw(st.sampled_from((0.0, 1e-6)))
    roles: tuple[tuple[ops.Role, ...], ...] = ((), ("bias",), ("layer_norm",))
    exempt = draw(st.sampled_from(roles))
    by_norm = ops.Clip(mode="global_norm", limit=limit, eps=eps, exempt=exempt)
    by_itself = ops.Clip(mode="per_param_norm", limit=limit, eps=eps, exempt=exempt)
    none, by_value = ops.Clip(mode="none"), ops.Clip(mode="value", limit=limit, exempt=exempt)
    return draw(st.sampled_from((none, by_norm, by_itself, by_value)))


@st.composite
def schedules(draw: st.DrawFn) -> ops.Schedule:
    """Any schedule short enough that a few windows reach its end."""
    name = draw(st.sampled_from(get_args(ops.ScheduleName)))
    warmup = draw(st.integers(1 if name == "inverse_sqrt" else 0, 5))
    rate = draw(st.floats(1e-4, 0.5))
    return ops.Schedule(
        name=name,
        power=draw(st.sampled_from((0.5, 1.0, 2.0))),
        decay_from=draw(st.sampled_from(("warmup_end", "start"))),
        learning_rate=rate,
        end_lr=rate * draw(st.sampled_from((0.0, 0.1, 1.0))),
        warmup_steps=warmup,
        warmup_start_lr=rate * draw(st.sampled_from((0.0, 0.1, 0.5))),
        total_steps=warmup + draw(st.integers(0, 10)),
        tick=draw(st.sampled_from(("update", "attempt"))),
    )


@st.composite
def update_scales(draw: st.DrawFn, mode: str | None = None) -> ops.UpdateScale:
    """A loss-scale machine with short intervals, so that a few attempts reach its edges."""
    init = 2.0 ** draw(st.integers(0, 16))
    mode = mode or draw(st.sampled_from(("dynamic", "static")))
    if mode == "static":
        return ops.UpdateScale(mode="static", init_scale=init)
    return ops.UpdateScale(
        mode="dynamic",
        init_scale=init,
        growth_factor=draw(st.sampled_from((2.0, 4.0, 1.5))),
        backoff_factor=draw(st.sampled_from((0.5, 0.25, 0.8))),
        growth_interval=draw(st.integers(1, 4)),
        hysteresis=draw(st.integers(1, 3)),
        hysteresis_mode=draw(st.sampled_from(("consecutive", "cumulative"))),
        min_scale=init * draw(st.sampled_from((1.0, 0.5, 2.0**-10, 0.0))),
        max_scale=draw(st.sampled_from((None, init, init * 8))),
    )


@st.composite
def plans(
    draw: st.DrawFn,
    *,
    scaled: bool | None = None,
    processes: int | None = None,
    dtypes: Sequence[ops.Dtype] = DTYPES,
) -> ops.Plan:
    """A Plan in the canonical order.

    Args:
        draw: Given by Hypothesis.
        scaled: Whether the loss is scaled; drawn if omitted.
        processes: Data-parallel processes; one to three are drawn if omitted.
        dtypes: The precisions to draw from.
    """
    dtype = draw(st.sampled_from(dtypes))
    scaled = draw(st.booleans()) if scaled is None else scaled
    processes = processes or draw(st.integers(1, 3))
    checked = scaled or draw(st.booleans())
    normalize = ops.Normalize(
        unit=draw(st.sampled_from(("sample", "microbatch", "token"))),
        renormalize=draw(st.booleans()),
        full=draw(st.integers(1, 16)),
    )
    micro = (
        ops.Autocast(compute_dtype=dtype),
        normalize,
        *((ops.Scale(),) if scaled else ()),
        ops.Backward(compute_dtype=dtype),
        ops.Accumulate(),
    )
    window = (
        *((ops.AllReduce(processes=processes),) if processes > 1 else ()),
        *((ops.Unscale(),) if scaled else ()),
        *((ops.CheckFinite(),) if checked else ()),
        draw(clips()),
        draw(steps()),
        *(
            (ops.Ema(decay=draw(st.sampled_from((0.0, 0.5, 0.999)))),)
            if draw(st.booleans())
            else ()
        ),
        draw(schedules()),
        *((draw(update_scales()),) if scaled else ()),
        ops.Zero(),
    )
    return ops.Plan(micro=micro, window=window)


def parameters(seed: int = 0) -> dict[str, np.ndarray]:
    """Weights of `SHAPES` in float64, standard normal."""
    rng = np.random.default_rng(seed)
    return {name: rng.standard_normal(shape) for name, shape in SHAPES.items()}


def micro_batch(seed: int, rows: int = 2) -> MicroBatch:
    """A micro-batch for `SHAPES` with standard normal loss and gradients."""
    rng = np.random.default_rng(seed)
    gradients = {name: rng.standard_normal(shape) for name, shape in SHAPES.items()}
    return MicroBatch(float(rng.standard_normal()), gradients, rows)


def windows(
    seed: int, *, count: int = 3, micro_batches: int = 2, processes: int = 1
) -> list[list[list[MicroBatch]]]:
    """Random micro-batches by window and process."""
    seeds = iter(range(seed * 1000, (seed + 1) * 1000))
    return [
        [[micro_batch(next(seeds)) for _ in range(micro_batches)] for _ in range(processes)]
        for _ in range(count)
    ]
