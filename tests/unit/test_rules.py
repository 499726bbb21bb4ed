"""Recipes whose fields contradict each other, and recipes that only look as if."""

from __future__ import annotations

import pytest

from recipe_texts import FLOAT16, found, mistakes, problems_of, text_of

CUSTOM = "{kind: custom, factory: {torch: 'a:b', tensorflow: 'a.b:c'}}"
NPZ = "{source: npz, train: a, eval: b}"

FULL = "{mode: full, compute_dtype: bfloat16}"
OWN = {"model": CUSTOM, "data": NPZ}
OWN_LOSS = "{kind: custom, function: {torch: 'a:b', tensorflow: 'a.b:c'}}"
COUNTED = "{kind: custom, function: {torch: 'a:b'}, target: ids}"
BY_TOKEN = "{normalize_by: token}"
HALF_LOSS = "{mode: mixed, compute_dtype: bfloat16, ops: {losses: compute}}"


@pytest.mark.parametrize(("changes", "expected"), mistakes("contradictions"))
def test_one_contradiction_is_one_diagnostic(
    changes: dict[str, str | None], expected: tuple[str, str, str]
) -> None:
    assert found(text_of(**changes)) == [expected]


GOOD: list[dict[str, str | None]] = [
    {},
    {"optimizer": "{name: sgd, learning_rate: 1}"},
    {"optimizer": "{name: adam, learning_rate: 1, betas: [1e-9, 0.5], weight_decay: 0}"},
    {"model": "{kind: bert, preset: base, layers: 2, labels: 3}"},
    {
        "model": "{kind: bert, labels: 3, "
        "layers: 1, hidden_size: 8, attention_heads: 8, intermediate_size: 1}"
    },
    {"model": CUSTOM, "data": NPZ},
    {"model": "{kind: custom, factory: {torch: 'a.runtime:train'}}", "data": NPZ},
    {"model": "{kind: custom, factory: {torch: 'runtimes:runtime'}}", "data": NPZ},
    {"data": "{source: npz, train: ' a b ', eval: '-x/../é'}"},
    {"precision": FLOAT16},
    {"precision": FLOAT16, "loss_scaling": "{mode: none}"},
    {"precision": FLOAT16, "loss_scaling": "{mode: static, scale: 128}"},
    {"precision": "{mode: mixed, compute_dtype: bfloat16}", "loss_scaling": "{mode: none}"},
    {"precision": FLOAT16, "loss_scaling": "{mode: dynamic, max_scale: null}"},
    {"precision": FLOAT16, "loss_scaling": "{mode: dynamic, min_scale: null, init_scale: 1e-30}"},
    {"clipping": "{kind: none}"},
    {"precision": FULL, "accumulation": "{dtype: compute}"},
    {"precision": "{mode: mixed, compute_dtype: float16, ops: {pointwise: compute}}"},
    {"accumulation": "{normalize_by: token, tail: carry}"},
    {"schedule": "{name: polynomial, total_steps: 9, power: 2, decay_from: start}"},
    {"schedule": "{name: inverse_sqrt, total_steps: 9, warmup_ratio: 0.5}"},
    {"optimizer": "{name: lamb, learning_rate: 1, groups: [{parameters: ['*.bias', 'a[0-9]']}]}"},
    {"ema": "{decay: 0}", "activation_checkpointing": "true"},
    {"optimizer": "{name: adafactor, learning_rate: 1, eps: [1e-18, 1e-30]}"},
    {"distributed": "{strategy: data_parallel}"},
    {"distributed": "{strategy: data_parallel, processes_per_node: 3}"},
    {"schedule": "{total_steps: 1, warmup_steps: 1}"},
    {"schedule": "{name: constant, total_steps: 1, end_lr: 0}"},
    {"schedule": "{name: cosine, total_steps: 1, end_lr: 1e-3}"},
    {"schedule": "{total_steps: 1, warmup_steps: 1, warmup_start_lr: 1e-3}"},
    {"schedule": "{total_steps: 9, warmup_ratio: 0.5, warmup_start_lr: 1e-4}"},
    {"seed": "2147483647", "name": "a" * 64},
    {"loss": "{}"},
    {"loss": "{label_smoothing: 0.1}"},
    {"loss": "{kind: cross_entropy, class_weights: [0.5, 1, 2]}", "accumulation": BY_TOKEN},
    {"loss": "{class_weights: []}", "precision": HALF_LOSS},
    {"loss": "{target: ids, label_smoothing: 0.5}", **OWN},
    {"loss": "{kind: mse, target: y}", **OWN},
    {"loss": "{kind: binary_cross_entropy}", "accumulation": "{normalize_by: microbatch}", **OWN},
    {"loss": OWN_LOSS, **OWN},
    {"loss": COUNTED, "accumulation": BY_TOKEN, **OWN},
]


@pytest.mark.parametrize("changes", GOOD, ids=str)
def test_good_recipes_have_no_problems(changes: dict[str, str | None]) -> None:
    assert problems_of(text_of(**changes)) == ()


def test_the_product_is_shown_where_batch_sizes_contradict() -> None:
    (problem,) = problems_of(
        text_of(
            batch="{micro_batch_size: 4, global_batch_size: 9}",
            distributed="{strategy: data_parallel, processes_per_node: 3}",
        )
    )
    assert "micro_batch_size 4 x accumulation.steps 2 x processes 3 = 24" in problem.message
    assert "global_batch_size is 9" in problem.message


def test_several_contradictions_are_found_at_once() -> None:
    text = text_of(
        batch="{global_batch_size: 7}",
        precision="{mode: mixed}",
        schedule="{total_steps: 1, warmup_steps: 2, end_lr: 1}",
    )
    assert [code for code, _, _ in found(text)] == ["CC201", "CC203", "CC203", "CC202"]
