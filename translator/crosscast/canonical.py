"""The canonical Plan of a recipe: its one neutral meaning, before any backend looks at it."""

from __future__ import annotations

from crosscast import plan as ops
from crosscast.recipe import (
    DynamicLossScaling,
    GlobalNormClipping,
    Recipe,
    Sgd,
    StaticLossScaling,
    ValueClipping,
)


def canonical_plan(recipe: Recipe) -> ops.Plan:
    """Return the training step that the recipe means."""
    return ops.Plan(micro=_micro(recipe), window=_window(recipe))


def _micro(recipe: Recipe) -> tuple[ops.Op, ...]:
    accumulation = recipe.accumulation
    unit_size = recipe.batch.micro_batch_size if accumulation.normalize_by == "sample" else 1
    dtype = recipe.precision.compute_dtype
    return (
        ops.Autocast(compute_dtype=dtype),
        ops.Normalize(
            unit=accumulation.normalize_by,
            renormalize=accumulation.tail != "flush",
            full=accumulation.steps * recipe.processes * unit_size,
        ),
        *((ops.Scale(),) if recipe.scaling_on else ()),
        ops.Backward(compute_dtype=dtype),
        ops.Accumulate(),
    )


def _window(recipe: Recipe) -> tuple[ops.Op, ...]:
    scaled = recipe.scaling_on
    return (
        *((ops.AllReduce(processes=recipe.processes),) if recipe.processes > 1 else ()),
        *((ops.Unscale(), ops.CheckFinite()) if scaled else ()),
        _clip(recipe),
        _step(recipe),
        ops.Schedule(
            name=recipe.schedule.name,
            learning_rate=recipe.optimizer.learning_rate,
            end_lr=recipe.schedule.end_lr,
            warmup_steps=recipe.schedule.warmup_steps,
            total_steps=recipe.schedule.total_steps,
            tick=recipe.schedule.tick,
        ),
        *_update_scale(recipe),
        ops.Zero(),
    )


def _clip(recipe: Recipe) -> ops.Clip:
    clipping = recipe.clipping
    if isinstance(clipping, GlobalNormClipping):
        return ops.Clip(mode="global_norm", limit=clipping.max_norm, eps=clipping.eps)
    if isinstance(clipping, ValueClipping):
        return ops.Clip(mode="value", limit=clipping.max_value)
    return ops.Clip(mode="none")


def _step(recipe: Recipe) -> ops.Step:
    optimizer = recipe.optimizer
    if isinstance(optimizer, Sgd):
        return ops.Step(
            optimizer="sgd",
            momentum=optimizer.momentum,
            nesterov=optimizer.nesterov,
            weight_decay=optimizer.weight_decay,
            no_decay=optimizer.no_decay,
        )
    return ops.Step(
        optimizer=optimizer.name,
        betas=optimizer.betas,
        eps=optimizer.eps,
        weight_decay=optimizer.weight_decay,
        no_decay=optimizer.no_decay,
    )


def _update_scale(recipe: Recipe) -> tuple[ops.UpdateScale, ...]:
    scaling = recipe.loss_scaling
    if isinstance(scaling, StaticLossScaling):
        return (ops.UpdateScale(mode="static", init_scale=scaling.scale),)
    if isinstance(scaling, DynamicLossScaling):
        return (
            ops.UpdateScale(
                mode="dynamic", **{k: v for k, v in scaling.model_dump().items() if k != "mode"}
            ),
        )
    return ()


def scale_before_schedule(plan: ops.Plan) -> ops.Plan:
    """Return the plan with the update of the loss scale right behind the step.

    Scalers that tell of a skipped step only by what their update changes need this order, because
    the schedule wants to know. The two operations read the same flag, so nothing else depends on
    their order.
    """
    update = plan.find(ops.UpdateScale)
    if update is None:
        return plan
    rest = [op for op in plan.window if op is not update]
    at = next(i for i, op in enumerate(rest) if isinstance(op, ops.Step)) + 1
    return ops.Plan(micro=plan.micro, window=(*rest[:at], update, *rest[at:]))
