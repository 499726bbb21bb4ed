"""The Plan that a recipe means, operation by operation."""

from __future__ import annotations

import pytest

from crosscast.plan import operations as ops
from crosscast.plan.canonical import canonical_plan
from recipe_texts import FLOAT16, recipe_of


def kinds(part: tuple[ops.Op, ...]) -> str:
    return " ".join(op.kind for op in part)


def test_the_plainest_recipe() -> None:
    plan = canonical_plan(recipe_of())
    assert kinds(plan.micro) == "autocast normalize backward accumulate"
    assert kinds(plan.window) == "clip step schedule zero"
    assert plan.find(ops.Autocast) == ops.Autocast(compute_dtype="float32")
    assert plan.find(ops.Clip) == ops.Clip(mode="none")


def test_a_recipe_with_everything() -> None:
    plan = canonical_plan(
        recipe_of(
            precision=FLOAT16,
            distributed="{strategy: data_parallel, processes_per_node: 3}",
            clipping="{kind: global_norm, max_norm: 2, eps: 0}",
        )
    )
    assert kinds(plan.micro) == "autocast normalize scale backward accumulate"
    assert kinds(plan.window) == (
        "all_reduce unscale check_finite clip step schedule update_scale zero"
    )
    assert plan.find(ops.AllReduce) == ops.AllReduce(processes=3)
    assert plan.find(ops.Clip) == ops.Clip(mode="global_norm", limit=2.0, eps=0.0)
    assert plan.find(ops.Backward) == ops.Backward(compute_dtype="float16")


@pytest.mark.parametrize(
    ("unit", "tail", "processes", "full", "renormalize"),
    [
        ("sample", "flush", 1, 8, False),
        ("sample", "flush", 3, 24, False),
        ("microbatch", "flush", 1, 2, False),
        ("microbatch", "flush", 3, 6, False),
        ("sample", "flush_renormalized", 1, 8, True),
        ("sample", "drop", 1, 8, True),
        ("sample", "carry", 1, 8, True),
    ],
)
def test_the_divisor_of_a_full_window(
    unit: ops.LossUnit, tail: str, processes: int, full: int, renormalize: bool
) -> None:
    recipe = recipe_of(
        accumulation=f"{{steps: 2, normalize_by: {unit}, tail: {tail}}}",
        distributed=f"{{strategy: data_parallel, processes_per_node: {processes}}}",
    )
    expected = ops.Normalize(unit=unit, renormalize=renormalize, full=full)
    assert canonical_plan(recipe).find(ops.Normalize) == expected


def test_bfloat16_has_no_scale() -> None:
    plan = canonical_plan(recipe_of(precision="{mode: mixed, compute_dtype: bfloat16}"))
    assert plan.find(ops.Scale) is None
    assert plan.find(ops.CheckFinite) is None
    assert plan.find(ops.Backward) == ops.Backward(compute_dtype="bfloat16")


def test_loss_scales() -> None:
    text = (
        "{mode: dynamic, init_scale: 8, growth_factor: 4, backoff_factor: 0.25, "
        "growth_interval: 3, hysteresis: 2, min_scale: 0.5, max_scale: 16}"
    )
    dynamic = canonical_plan(recipe_of(precision=FLOAT16, loss_scaling=text))
    assert dynamic.find(ops.UpdateScale) == ops.UpdateScale(
        mode="dynamic",
        init_scale=8,
        growth_factor=4,
        backoff_factor=0.25,
        growth_interval=3,
        hysteresis=2,
        min_scale=0.5,
        max_scale=16,
    )
    static = canonical_plan(recipe_of(precision=FLOAT16, loss_scaling="{mode: static, scale: 128}"))
    assert static.find(ops.UpdateScale) == ops.UpdateScale(mode="static", init_scale=128)


def test_optimizers() -> None:
    sgd = "{name: sgd, learning_rate: 1, momentum: 0.9, nesterov: true, weight_decay: 0.1}"
    assert canonical_plan(recipe_of(optimizer=sgd)).find(ops.Step) == ops.Step(
        optimizer="sgd", momentum=0.9, nesterov=True, weight_decay=0.1
    )
    adam = "{name: adam, learning_rate: 1, betas: [0.5, 0.6], eps: 0.1, no_decay: [embedding]}"
    assert canonical_plan(recipe_of(optimizer=adam)).find(ops.Step) == ops.Step(
        optimizer="adam", betas=(0.5, 0.6), eps=0.1, no_decay=("embedding",)
    )
    adamw = canonical_plan(recipe_of()).find(ops.Step)
    assert adamw is not None
    assert (adamw.optimizer, adamw.weight_decay, adamw.no_decay) == (
        *("adamw", 0.01),
        ("bias", "layer_norm"),
    )


def test_clipping_by_value_and_schedule() -> None:
    plan = canonical_plan(
        recipe_of(
            clipping="{kind: value, max_value: 3}",
            schedule="{name: cosine, total_steps: 9, warmup_steps: 2, end_lr: 1e-4, tick: attempt}",
        )
    )
    assert plan.find(ops.Clip) == ops.Clip(mode="value", limit=3.0)
    assert plan.find(ops.Schedule) == ops.Schedule(
        name="cosine",
        learning_rate=1e-3,
        end_lr=1e-4,
        warmup_steps=2,
        total_steps=9,
        tick="attempt",
    )
