"""The canonical Plan of a recipe, independent of any backend."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from crosscast.plan import operations as ops
from crosscast.recipe.document import (
    DynamicLossScaling,
    NoClipping,
    Recipe,
    Section,
    StaticLossScaling,
    ValueClipping,
)


def canonical_plan(recipe: Recipe) -> ops.Plan:
    """Return the training step of a recipe."""
    return ops.Plan(micro=_micro(recipe), window=_window(recipe))


def _micro(recipe: Recipe) -> tuple[ops.Op, ...]:
    accumulation = recipe.accumulation
    unit_size = 1 if accumulation.normalize_by == "microbatch" else recipe.batch.micro_batch_size
    dtype = recipe.precision.compute_dtype
    return (
        ops.Autocast(
            compute_dtype=dtype, weights=dtype if recipe.precision.mode == "full" else "float32"
        ),
        ops.Normalize(
            unit=accumulation.normalize_by,
            renormalize=accumulation.tail != "flush",
            full=accumulation.steps * recipe.processes * unit_size,
        ),
        *((ops.Scale(),) if recipe.scaling_on else ()),
        ops.Backward(compute_dtype=dtype),
        ops.Accumulate(dtype=dtype if accumulation.dtype == "compute" else "float32"),
    )


def _window(recipe: Recipe) -> tuple[ops.Op, ...]:
    scaled = recipe.scaling_on
    return (
        *((ops.AllReduce(processes=recipe.processes),) if recipe.processes > 1 else ()),
        *((ops.Unscale(), ops.CheckFinite()) if scaled else ()),
        _clip(recipe),
        _step(recipe),
        *((ops.Ema(decay=recipe.ema.decay),) if recipe.ema.decay is not None else ()),
        _schedule(recipe),
        *_update_scale(recipe),
        ops.Zero(),
    )


def _fields(section: Section) -> dict[str, Any]:
    """Return the fields of a section by name, without converting nested sections."""
    return {name: getattr(section, name) for name in type(section).model_fields}


def _clip(recipe: Recipe) -> ops.Clip:
    clipping = recipe.clipping
    if isinstance(clipping, NoClipping):
        return ops.Clip(mode="none")
    if isinstance(clipping, ValueClipping):
        return ops.Clip(mode="value", limit=clipping.max_value, exempt=clipping.exempt)
    return ops.Clip(
        mode=clipping.kind, limit=clipping.max_norm, eps=clipping.eps, exempt=clipping.exempt
    )


def _step(recipe: Recipe) -> ops.Step:
    values = _fields(recipe.optimizer)
    del values["learning_rate"]  # part of the schedule
    if recipe.optimizer.name == "adafactor":
        values["factored_eps"] = values.pop("eps")
    values["groups"] = tuple(ops.Group(**_fields(group)) for group in recipe.optimizer.groups)
    return ops.Step(optimizer=values.pop("name"), **values)


def _schedule(recipe: Recipe) -> ops.Schedule:
    values = _fields(recipe.schedule)
    del values["warmup_ratio"]  # derived into warmup_steps
    return ops.Schedule(learning_rate=recipe.optimizer.learning_rate, **values)


def _update_scale(recipe: Recipe) -> tuple[ops.UpdateScale, ...]:
    scaling = recipe.loss_scaling
    if isinstance(scaling, StaticLossScaling):
        return (ops.UpdateScale(mode="static", init_scale=scaling.scale),)
    if isinstance(scaling, DynamicLossScaling):
        fields = _fields(scaling) | {"min_scale": scaling.floor}
        return (ops.UpdateScale(**fields),)
    return ()


def scale_before_schedule(plan: ops.Plan) -> ops.Plan:
    """Return the plan with the update of the loss scale directly after the step.

    Scalers that report a skipped step only through their update need this order, because the
    schedule depends on it. The two operations read the same flag, so nothing else depends on their
    order.
    """
    update = plan.find(ops.UpdateScale)
    if update is None:
        return plan
    rest = [op for op in plan.window if op is not update]
    at = next(i for i, op in enumerate(rest) if isinstance(op, ops.Step)) + 1
    return replace(plan, window=(*rest[:at], update, *rest[at:]))
