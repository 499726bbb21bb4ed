"""Recipes whose fields contradict each other, and recipes that only look as if."""

from __future__ import annotations

import pytest

from recipe_texts import FLOAT16, bad, found, problems_of, text_of

CUSTOM = "{kind: custom, factory: {torch: 'a:b', tensorflow: 'a.b:c'}}"
NPZ = "{source: npz, train: a, eval: b}"

FULL = "{mode: full, compute_dtype: bfloat16}"
OWN = {"model": CUSTOM, "data": NPZ}
OWN_LOSS = "{kind: custom, function: {torch: 'a:b', tensorflow: 'a.b:c'}}"
COUNTED = "{kind: custom, function: {torch: 'a:b'}, target: ids}"
BY_TOKEN = "{normalize_by: token}"
HALF_LOSS = "{mode: mixed, compute_dtype: bfloat16, ops: {losses: compute}}"

RULES = [
    bad("precision", "{mode: full}", "CC202", "9:1", ".compute_dtype"),
    bad("precision", "{ops: {losses: compute}}", "CC202", "9:13", ".ops"),
    bad("accumulation", "{dtype: compute}", "CC209", "6:23", ".dtype"),
    bad("accumulation", "{dtype: compute}", "CC209", "6:23", ".dtype", precision=FLOAT16),
    bad("accumulation", "{normalize_by: token, tail: flush}", "CC209", "6:43", ".tail"),
    bad("schedule", "{total_steps: 9, power: 2}", "CC203", "8:35", ".power"),
    bad("schedule", "{total_steps: 9, decay_from: start}", "CC203", "8:40", ".decay_from"),
    bad("schedule", "{name: inverse_sqrt, total_steps: 9}", "CC203", "8:1", ".warmup_steps"),
    bad(
        "schedule",
        "{name: inverse_sqrt, total_steps: 9, warmup_steps: 1, end_lr: 1e-9}",
        "CC203",
        "8:73",
        ".end_lr",
    ),
    bad(
        "optimizer",
        "{name: sgd, learning_rate: 1, rate_in_momentum: true}",
        "CC207",
        "7:60",
        ".rate_in_momentum",
    ),
    bad(
        "clipping", "{kind: value, max_value: 1, exempt: [bias, bias]}", "CC207", "9:47", ".exempt"
    ),
    bad("activation_checkpointing", "true", "CC210", "9:27", **OWN),
    bad(
        "model",
        "{kind: bert, preset: tiny, labels: 3, vocab_size: 8}",
        "CC206",
        "3:58",
        ".vocab_size",
    ),
    bad(
        "precision",
        "{mode: mixed, compute_dtype: float16, ops: {losses: compute}}",
        "CC210",
        "9:64",
        ".ops.losses",
        **OWN,
    ),
    bad(
        "precision",
        "{mode: mixed, compute_dtype: float16, ops: {matmul: float32}}",
        "CC210",
        "9:64",
        ".ops.matmul",
        **OWN,
    ),
    bad(
        "batch",
        "{micro_batch_size: 4, global_batch_size: 9}",
        "CC201",
        "5:49",
        ".global_batch_size",
    ),
    bad("batch", "{global_batch_size: 9}", "CC201", "5:28", ".global_batch_size"),
    bad("distributed", "{processes_per_node: 2}", "CC201", "9:35", ".processes_per_node"),
    bad("precision", "{mode: mixed}", "CC202", "9:1", ".compute_dtype"),
    bad("precision", "{mode: mixed, compute_dtype: float32}", "CC202", "9:41", ".compute_dtype"),
    bad("precision", "{compute_dtype: float16}", "CC202", "9:28", ".compute_dtype"),
    bad("loss_scaling", "{mode: dynamic}", "CC202", "9:22", ".mode"),
    bad("loss_scaling", "{mode: static, scale: 1}", "CC202", "9:22", ".mode"),
    bad(
        "loss_scaling",
        "{mode: dynamic}",
        "CC202",
        "9:22",
        ".mode",
        precision="{mode: mixed, compute_dtype: bfloat16}",
    ),
    bad("schedule", "{total_steps: 9, warmup_steps: 10}", "CC203", "8:42", ".warmup_steps"),
    bad(
        "schedule",
        "{total_steps: 9, warmup_steps: 1, warmup_ratio: 0.1}",
        "CC203",
        "8:59",
        ".warmup_ratio",
    ),
    bad("schedule", "{total_steps: 9, end_lr: 0.1}", "CC203", "8:36", ".end_lr"),
    bad("schedule", "{name: cosine, total_steps: 9, end_lr: 0.1}", "CC203", "8:50", ".end_lr"),
    bad(
        "loss_scaling",
        "{mode: dynamic, init_scale: 0.5}",
        "CC204",
        "9:43",
        ".init_scale",
        precision=FLOAT16,
    ),
    bad(
        "loss_scaling",
        "{mode: dynamic, max_scale: 2}",
        "CC204",
        "9:1",
        ".init_scale",
        precision=FLOAT16,
    ),
    bad(
        "model",
        "{kind: bert, preset: tiny, labels: 3, hidden_size: 129}",
        "CC205",
        "3:59",
        ".hidden_size",
    ),
    bad("model", "{kind: bert, preset: tiny, labels: 2}", "CC206", "3:43", ".labels"),
    bad(
        "model",
        "{kind: bert, preset: tiny, labels: 3, type_vocab_size: 1}",
        "CC206",
        "3:63",
        ".type_vocab_size",
    ),
    bad("model", CUSTOM, "CC206", "4:16", "/data.source"),
    *(
        bad(
            "model",
            f"{{kind: custom, factory: {{torch: '{name}'}}}}",
            "CC104",
            "3:40",
            ".factory.torch",
            data=NPZ,
        )
        for name in ("a.class:b", "a.b:None", "runtime.nets:make", "train:make")
    ),
    bad("data", "{source: synthetic, sequence_length: 513}", "CC206", "4:44", ".sequence_length"),
    bad(
        "loss",
        "{label_smoothing: 0.1, class_weights: [1, 1, 2]}",
        "CC214",
        "9:45",
        ".class_weights",
    ),
    bad("loss", "{class_weights: [1, 2]}", "CC214", "9:23", ".class_weights"),
    bad("loss", "{class_weights: [1, 2, 0]}", "CC104", "9:30", ".class_weights.2"),
    bad("loss", "{class_weights: [1, 2, 1e300]}", "CC104", "9:30", ".class_weights.2"),
    bad("loss", "{label_smoothing: 1}", "CC104", "9:25", ".label_smoothing"),
    bad("loss", "{target: ids}", "CC210", "9:16", ".target"),
    bad("loss", "{target: 1st}", "CC104", "9:16", ".target", **OWN),
    bad("loss", "{kind: mse}", "CC210", "9:14", ".kind"),
    bad("loss", "{kind: huber}", "CC104", "9:14", ".kind"),
    bad("loss", "{kind: mse, label_smoothing: 0.1}", "CC101", "9:19", ".label_smoothing", **OWN),
    bad("loss", "{function: {torch: 'a:b'}}", "CC102", "9:1", ".kind", **OWN),
    bad("loss", OWN_LOSS, "CC210", "9:14", ".kind"),
    bad("loss", COUNTED, "CC214", "9:56", ".target", **OWN),
    bad(
        "loss",
        "{kind: custom, function: {torch: 'a.class:b'}}",
        "CC104",
        "9:40",
        ".function.torch",
        **OWN,
    ),
    bad(
        "loss",
        "{kind: custom, function: {torch: 'train:b'}}",
        "CC104",
        "9:40",
        ".function.torch",
        **OWN,
    ),
    *(
        bad("accumulation", BY_TOKEN, "CC214", "6:30", ".normalize_by", loss=loss, **OWN)
        for loss in ("{kind: mse}", "{kind: binary_cross_entropy}", OWN_LOSS)
    ),
    bad("precision", HALF_LOSS, "CC214", "9:65", ".ops.losses", loss="{label_smoothing: 0.1}"),
    bad("optimizer", "{name: sgd, learning_rate: 1, nesterov: true}", "CC207", "7:52", ".nesterov"),
    bad(
        "optimizer",
        "{name: adam, learning_rate: 1, no_decay: [bias, bias]}",
        "CC207",
        "7:53",
        ".no_decay",
    ),
]


@pytest.mark.parametrize(("changes", "expected"), RULES)
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
