"""Recipes with mistakes: the code, the place and the hint of every rule about single fields."""

from __future__ import annotations

import json
import re

import pytest

from cpu_cost import cpu_seconds
from crosscast.recipe.document import Recipe
from crosscast.recipe.schema import schema_text
from crosscast.recipe.suggestions import suggest, suggest_field
from crosscast.recipe.validation_errors import PATTERNS
from recipe_texts import BASE, bad, build, found, problems_of, recipe_of, text_of

FIELDS = [
    bad("version", None, "CC102", "1:1"),
    bad("version", "null", "CC102", "1:10"),
    bad("version", "0", "CC105", "1:10"),
    bad("version", "3", "CC105", "1:10"),
    bad("version", '"1"', "CC105", "1:10"),
    bad("version", "true", "CC105", "1:10"),
    bad("version", "1.0", "CC105", "1:10"),
    bad("name", None, "CC102", "1:1"),
    bad("name", "5", "CC103", "2:7"),
    bad("name", '""', "CC104", "2:7"),
    bad("name", "../x", "CC104", "2:7"),
    bad("name", "-x", "CC104", "2:7"),
    bad("name", '"a\\n"', "CC104", "2:7"),
    bad("name", "x" * 65, "CC104", "2:7"),
    bad("seed", "-1", "CC104", "9:7"),
    bad("seed", "2147483648", "CC104", "9:7"),
    bad("seed", "1.0", "CC103", "9:7"),
    bad("seed", "true", "CC103", "9:7"),
    bad("seed", '"1"', "CC103", "9:7"),
    bad("seed", "1_000", "CC103", "9:7"),
    bad("seed", "null", "CC103", "9:7"),
    bad("seeds", "1", "CC101", "9:1"),
    bad("X-note", "1", "CC101", "9:1"),
    # model
    bad("model", None, "CC102", "1:1"),
    bad("model", "bert", "CC103", "3:8"),
    bad("model", "null", "CC103", "3:8"),
    bad("model", "[]", "CC103", "3:8"),
    bad("model", "{}", "CC102", "3:1", ".kind"),
    bad("model", "{kind: brt}", "CC104", "3:15", ".kind"),
    bad("model", "{kind: 1}", "CC104", "3:15", ".kind"),
    bad("model", "{kind: [bert]}", "CC104", "3:15", ".kind"),
    bad("model", "{kind: null}", "CC104", "3:15", ".kind"),
    bad("model", "{kind: bert}", "CC102", "3:1", ".layers"),
    bad("model", "{kind: bert, layers: 1}", "CC102", "3:1", ".hidden_size"),
    bad("model", "{kind: bert, preset: tny}", "CC104", "3:29", ".preset"),
    bad("model", "{kind: bert, preset: 1}", "CC104", "3:29", ".preset"),
    bad("model", "{kind: bert, preset: tiny, layer: 2}", "CC101", "3:35", ".layer"),
    bad("model", "{kind: bert, preset: tiny, bert: 2}", "CC101", "3:35", ".bert"),
    bad("model", "{kind: bert, preset: tiny, layers: 0}", "CC104", "3:43", ".layers"),
    bad("model", "{kind: bert, preset: tiny, layers: null}", "CC103", "3:43", ".layers"),
    bad("model", "{kind: bert, preset: tiny, labels: 1}", "CC104", "3:43", ".labels"),
    bad("model", "{kind: bert, preset: tiny, dropout: 1}", "CC104", "3:44", ".dropout"),
    bad("model", "{kind: bert, preset: tiny, dropout: '0'}", "CC103", "3:44", ".dropout"),
    bad("model", "{kind: bert, preset: tiny, init_std: 0}", "CC104", "3:45", ".init_std"),
    bad("model", "{kind: custom}", "CC102", "3:1", ".factory"),
    bad("model", "{kind: custom, factory: {}}", "CC104", "3:32", ".factory"),
    bad("model", "{kind: custom, factory: 'a:b'}", "CC103", "3:32", ".factory"),
    bad("model", "{kind: custom, factory: {torch: a.b}}", "CC104", "3:40", ".factory.torch"),
    bad("model", "{kind: custom, factory: {torch: 'a:b.c'}}", "CC104", "3:40", ".factory.torch"),
    bad("model", "{kind: custom, factory: {torch: 'a b:c'}}", "CC104", "3:40", ".factory.torch"),
    bad("model", "{kind: custom, factory: {torch: 'é:c'}}", "CC104", "3:40", ".factory.torch"),
    bad("model", "{kind: custom, factory: {torch: 1}}", "CC103", "3:40", ".factory.torch"),
    # data
    bad("data", None, "CC102", "1:1"),
    bad("data", "{source: tfrecord}", "CC104", "4:16", ".source"),
    bad("data", "{source: synthetic, train: a}", "CC101", "4:27", ".train"),
    bad("data", "{source: synthetic, sequence_length: 7}", "CC104", "4:44", ".sequence_length"),
    bad("data", "{source: synthetic, shuffle: 'no'}", "CC103", "4:36", ".shuffle"),
    bad("data", "{source: synthetic, shuffle: no}", "CC103", "4:36", ".shuffle"),
    bad("data", "{source: npz, train: a}", "CC102", "4:1", ".eval"),
    bad("data", "{source: npz, train: a, eval: ''}", "CC104", "4:37", ".eval"),
    bad("data", "{source: npz, train: a, eval: 1}", "CC103", "4:37", ".eval"),
    bad("data", '{source: npz, train: a, eval: "\\n"}', "CC104", "4:37", ".eval"),
    bad("data", '{source: npz, train: a, eval: "\\0"}', "CC104", "4:37", ".eval"),
    bad("data", '{source: npz, train: a, eval: "\\x9b"}', "CC104", "4:37", ".eval"),
    bad("data", '{source: npz, train: a, eval: "\\u2028"}', "CC104", "4:37", ".eval"),
    bad("data", f"{{source: npz, train: a, eval: {'x' * 256}}}", "CC104", "4:37", ".eval"),
    # batch and accumulation
    bad("batch", None, "CC102", "1:1", ".micro_batch_size"),
    bad("batch", "{}", "CC102", "5:1", ".micro_batch_size"),
    bad("batch", "null", "CC103", "5:8"),
    bad("batch", "4", "CC103", "5:8"),
    bad("batch", "{micro_batch_size: '4'}", "CC103", "5:27", ".micro_batch_size"),
    bad("batch", "{micro_batch_size: 4.0}", "CC103", "5:27", ".micro_batch_size"),
    bad("batch", "{micro_batch_size: true}", "CC103", "5:27", ".micro_batch_size"),
    bad("batch", "{micro_batch_size: 0}", "CC104", "5:27", ".micro_batch_size"),
    bad("batch", "{micro_batch_size: -8}", "CC104", "5:27", ".micro_batch_size"),
    bad("batch", "{micro_batch_size: null}", "CC103", "5:27", ".micro_batch_size"),
    bad("batch", "{batch_size: 4}", "CC101", "5:9", ".batch_size"),
    bad("batch", "{micro_batch_size: 2147483647}", "CC104", "5:1", ".global_batch_size"),
    bad("accumulation", "2", "CC103", "6:15"),
    bad("accumulation", "{steps: 0}", "CC104", "6:23", ".steps"),
    bad("accumulation", "{steps: null}", "CC103", "6:23", ".steps"),
    bad("accumulation", "{tail: flsh}", "CC104", "6:22", ".tail"),
    bad("accumulation", "{normalize_by: tokens}", "CC104", "6:30", ".normalize_by"),
    # precision and loss scaling
    bad("precision", "mixed", "CC103", "9:12"),
    bad("precision", "{mode: amp}", "CC104", "9:19", ".mode"),
    bad("precision", "{compute_dtype: fp16}", "CC104", "9:28", ".compute_dtype"),
    bad("precision", "{param_dtype: float16}", "CC104", "9:26", ".param_dtype"),
    bad("precision", "{tf32: 1}", "CC103", "9:19", ".tf32"),
    bad("loss_scaling", "null", "CC103", "9:15"),
    bad("loss_scaling", "dynamic", "CC103", "9:15"),
    bad("loss_scaling", "{}", "CC102", "9:1", ".mode"),
    bad("loss_scaling", "{mode: none, scale: 1}", "CC101", "9:28", ".scale"),
    bad("loss_scaling", "{mode: static}", "CC102", "9:1", ".scale"),
    bad("loss_scaling", "{mode: static, scale: 0}", "CC104", "9:37", ".scale"),
    bad("loss_scaling", "{mode: static, scale: 1e39}", "CC104", "9:37", ".scale"),
    bad("loss_scaling", "{mode: dynamic, hysteresis: 0}", "CC104", "9:43", ".hysteresis"),
    bad("loss_scaling", "{mode: dynamic, min_scale: 0}", "CC104", "9:42", ".min_scale"),
    bad("loss_scaling", "{mode: dynamic, growth_factor: 1}", "CC104", "9:46", ".growth_factor"),
    bad("loss_scaling", "{mode: dynamic, backoff_factor: 1}", "CC104", "9:47", ".backoff_factor"),
    bad("loss_scaling", "{mode: dynamic, backoff_factor: 0}", "CC104", "9:47", ".backoff_factor"),
    # clipping
    bad("clipping", "1.0", "CC103", "9:11"),
    bad("clipping", "{kind: norm}", "CC104", "9:18", ".kind"),
    bad("clipping", "{max_norm: 1}", "CC102", "9:1", ".kind"),
    bad("clipping", "{kind: global_norm}", "CC102", "9:1", ".max_norm"),
    bad("clipping", "{kind: global_norm, max_norm: 0}", "CC104", "9:41", ".max_norm"),
    bad("clipping", "{kind: global_norm, max_norm: 1, eps: -1}", "CC104", "9:49", ".eps"),
    bad("clipping", "{kind: value, max_value: 0}", "CC104", "9:36", ".max_value"),
    bad("clipping", "{kind: none, max_norm: 1}", "CC101", "9:24", ".max_norm"),
    # optimizer
    bad("optimizer", "{name: Adam, learning_rate: 1}", "CC104", "7:19", ".name"),
    bad("optimizer", "{name: adam}", "CC102", "7:1", ".learning_rate"),
    bad("optimizer", "{name: adam, lr: 1e-3}", "CC101", "7:25", ".lr"),
    bad("optimizer", "{name: adam, learning_rate: 0}", "CC104", "7:40", ".learning_rate"),
    bad("optimizer", "{name: adam, learning_rate: '1'}", "CC103", "7:40", ".learning_rate"),
    bad("optimizer", "{name: adam, learning_rate: true}", "CC103", "7:40", ".learning_rate"),
    bad("optimizer", "{name: adam, learning_rate: 1, eps: 0}", "CC104", "7:48", ".eps"),
    bad("optimizer", "{name: adam, learning_rate: 1, betas: [0.9]}", "CC102", "7:43", ".betas.1"),
    bad(
        "optimizer", "{name: adam, learning_rate: 1, betas: [0.9, 1]}", "CC104", "7:56", ".betas.1"
    ),
    bad(
        "optimizer", "{name: lion, learning_rate: 1, betas: [0, 0.9]}", "CC104", "7:51", ".betas.0"
    ),
    bad("optimizer", "{name: adamw, learning_rate: 1, eps: 1e-46}", "CC104", "7:49", ".eps"),
    bad("optimizer", "{name: sgd, learning_rate: 1e38}", "CC104", "7:39", ".learning_rate"),
    bad(
        "optimizer",
        "{name: adafactor, learning_rate: 1, eps: [1e-19, 1e-3]}",
        "CC104",
        "7:54",
        ".eps.0",
    ),
    bad("ema", "{decay: 0.99999999}", "CC104", "9:14", ".decay"),
    bad("optimizer", "{name: adam, learning_rate: 1, betas: [0, 0, 0]}", "CC104", "7:50", ".betas"),
    bad("optimizer", "{name: adam, learning_rate: 1, betas: 0.9}", "CC103", "7:50", ".betas"),
    bad("optimizer", "{name: adam, learning_rate: 1, momentum: 1}", "CC101", "7:43", ".momentum"),
    bad(
        "optimizer", "{name: adam, learning_rate: 1, no_decay: bias}", "CC103", "7:53", ".no_decay"
    ),
    bad(
        "optimizer",
        "{name: sgd, learning_rate: 1, no_decay: [bais]}",
        "CC104",
        "7:53",
        ".no_decay.0",
    ),
    bad("optimizer", "{name: sgd, learning_rate: 1, momentum: 1}", "CC104", "7:52", ".momentum"),
    bad("optimizer", "{name: sgd, learning_rate: 1, eps: 1}", "CC101", "7:42", ".eps"),
    # schedule and the rest
    bad("schedule", "{name: step, total_steps: 1}", "CC104", "8:18", ".name"),
    bad("schedule", "{name: linear}", "CC102", "8:1", ".total_steps"),
    bad("schedule", "{max_steps: 3}", "CC101", "8:12", ".max_steps"),
    bad("schedule", "{total_steps: 0}", "CC104", "8:25", ".total_steps"),
    bad("schedule", "{total_steps: 9, warmup_steps: -1}", "CC104", "8:42", ".warmup_steps"),
    bad("schedule", "{total_steps: 9, warmup_ratio: 1.5}", "CC104", "8:42", ".warmup_ratio"),
    bad("schedule", "{total_steps: 9, warmup_ratio: '1'}", "CC103", "8:42", ".warmup_ratio"),
    bad("schedule", "{total_steps: 9, warmup_ratio: true}", "CC103", "8:42", ".warmup_ratio"),
    bad("schedule", "{total_steps: 9, end_lr: -1}", "CC104", "8:36", ".end_lr"),
    bad("schedule", "{total_steps: 9, tick: step}", "CC104", "8:34", ".tick"),
    bad("distributed", "null", "CC103", "9:14"),
    bad("distributed", "{strategy: ddp}", "CC104", "9:25", ".strategy"),
    bad("distributed", "{processes_per_node: 0}", "CC104", "9:35", ".processes_per_node"),
    bad("overrides", "[]", "CC103", "9:12"),
    bad("overrides", "{torch: 1}", "CC103", "9:20", ".torch"),
]


@pytest.mark.parametrize(("changes", "expected"), FIELDS)
def test_one_mistake_is_one_diagnostic(
    changes: dict[str, str | None], expected: tuple[str, str, str]
) -> None:
    assert found(text_of(**changes)) == [expected]


def test_integers_are_fine_where_floats_are_wanted() -> None:
    rate = recipe_of(optimizer="{name: sgd, learning_rate: 1}").optimizer.learning_rate
    assert (rate, type(rate)) == (1.0, float)


def hint_of(**changes: str | None) -> str:
    (problem,) = problems_of(text_of(**changes))
    return problem.hint


@pytest.mark.parametrize(
    ("changes", "hint"),
    [
        ({"version": "3"}, "update crosscast to read this recipe"),
        ({"version": "0"}, "write `version: 2`"),
        ({"version": None}, "add the line `version: 2`"),
        ({"loss_scale": "1"}, "write `loss_scaling: {mode: static, scale: 1}`"),
        ({"grad_clip": "1"}, "write `clipping: {kind: global_norm, max_norm: 1}`"),
        ({"scheduler": "1"}, "did you mean schedule?"),
        ({"seeds": "1"}, "did you mean seed?"),
        ({"lr": "1"}, "did you mean optimizer.learning_rate?"),
        (
            {"max_norm": "1", "clipping": "{kind: global_norm, max_norm: 1}"},
            "did you mean clipping.max_norm?",
        ),
        ({"precision": "{mode: mixed, compute_dtype: fp16}"}, "did you mean float16?"),
        ({"precision": "{mode: mixed, compute_dtype: bf16}"}, "did you mean bfloat16?"),
        ({"optimizer": "{name: Adam, learning_rate: 1}"}, "did you mean adam?"),
        (
            {"optimizer": "{name: sgd, learning_rate: 1, wd: 1}"},
            "did you mean optimizer.weight_decay?",
        ),
        (
            {"optimizer": "{name: adam, learning_rate: 1, epsilon: 1}"},
            "did you mean optimizer.eps?",
        ),
        ({"accumulation": "{gradient_accumulation_steps: 2}"}, "did you mean accumulation.steps?"),
        ({"batch": "{batch_size: 2}"}, "did you mean batch.micro_batch_size?"),
        (
            {"optimizer": "{name: sgd, learning_rate: 1, eps: 1}"},
            "only with name: adafactor, adam, adamw, lamb; otherwise remove it",
        ),
        (
            {"loss_scaling": "{mode: none, init_scale: 2}"},
            "only with mode: dynamic; otherwise remove it",
        ),
        (
            {"optimizer": "{name: sgd, learning_rate: 1, colour: 1}"},
            "known fields: name, learning_rate, no_decay, groups, momentum, nesterov, "
            "rate_in_momentum, weight_decay; your own keys must start with x-",
        ),
        (
            {"model": "{kind: bert}"},
            "set model.preset (tiny, mini, small, base, large) or all four sizes",
        ),
        ({"batch": "{}"}, "set micro_batch_size, or global_batch_size and accumulation.steps"),
    ],
    ids=str,
)
def test_hints(changes: dict[str, str | None], hint: str) -> None:
    assert hint_of(**changes) == hint


def test_problems_inside_lists_and_inner_sections_have_places() -> None:
    text = text_of(
        precision="{mode: mixed, compute_dtype: float16, ops: {pointwize: compute, losses: half}}",
        optimizer="{name: lamb, learning_rate: 1, groups: [{parameters: ['a.*', 'b c']}, "
        "{parameters: [], ratefactor: 2}, {parameters: ['*'], weight_decay: -1}, x]}",
    )
    assert found(text) == [
        ("CC104", "7:73", "optimizer.groups.0.parameters.1"),
        ("CC104", "7:95", "optimizer.groups.1.parameters"),
        ("CC101", "7:99", "optimizer.groups.1.ratefactor"),
        ("CC104", "7:149", "optimizer.groups.2.weight_decay"),
        ("CC103", "7:154", "optimizer.groups.3"),
        ("CC101", "9:56", "precision.ops.pointwize"),
        ("CC105", "9:84", "precision.ops.losses"),
    ]
    hints = [problem.hint for problem in problems_of(text)]
    assert "did you mean precision.ops.pointwise?" in hints
    assert "did you mean optimizer.groups.1.rate_factor?" in hints


def test_free_notes_may_stand_anywhere() -> None:
    text = text_of(
        precision="{mode: mixed, compute_dtype: float16, ops: {x-a: [1, {b: c}], losses: compute}}",
        optimizer="{name: lion, learning_rate: 1, groups: [{x-note: 1, parameters: ['*']}]}",
    )
    assert problems_of(text) == ()


def test_suggestions() -> None:
    assert suggest("FLOAT6", ["float16", "float32"]) == "float16"
    assert suggest("fp16", ["bert", "custom"]) is None
    assert suggest("zzz", []) is None
    assert suggest_field(("nothing_like_it",), {}) == ""


def test_all_problems_are_found_at_once_and_sorted() -> None:
    text = text_of(
        name="a b",
        seed="-1",
        optimizer="{name: adamw, learning_rate: '1', bta: 1}",
        schedule="{}",
        version="9",
    )
    assert [(code, place) for code, place, _ in found(text)] == [
        ("CC105", "1:10"),
        ("CC104", "2:7"),
        ("CC103", "7:41"),
        ("CC101", "7:46"),
        ("CC102", "8:1"),
        ("CC104", "9:7"),
    ]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"batch": "{micro_batch_size: 'x'}"}, "batch.micro_batch_size"),
        ({"batch": "{global_batch_size: 0}"}, "batch.global_batch_size"),
        ({"accumulation": "{steps: 'x'}", "batch": "{global_batch_size: 8}"}, "accumulation.steps"),
        ({"distributed": "{processes_per_node: 'x'}"}, "distributed.processes_per_node"),
        ({"model": "{kind: bert, preset: tiney}"}, "model.preset"),
        ({"model": "{kind: bert, perset: tiny}"}, "model.perset"),
        ({"optimizer": "{name: adam, learnin_rate: 1}"}, "optimizer.learnin_rate"),
    ],
    ids=str,
)
def test_what_follows_from_a_mistake_is_not_reported(
    changes: dict[str, str | None], path: str
) -> None:
    assert [p for _, _, p in found(text_of(**changes))] == [path]


@pytest.mark.parametrize("text", ["- 1", "hello", "3", "[]"])
def test_a_recipe_is_a_mapping(text: str) -> None:
    assert found(text) == [("CC103", "1:1", "")]


def test_free_keys_are_ignored_at_the_top_and_in_sections() -> None:
    changes = {
        section: f"{value[:-1]}, x-note: [1, {{a: null}}]}}"
        for section, value in BASE.items()
        if value.startswith("{")
    }
    text = text_of(**changes) + "x-top: {deep: [anything]}\nx-: 1\n"
    assert build(text) == build(text_of())


def test_free_keys_do_not_fill_in_for_fields() -> None:
    assert found(text_of(batch="{x-micro_batch_size: 1}"))[0][0] == "CC102"


def test_a_loaded_recipe_is_frozen() -> None:
    recipe = build(text_of())
    with pytest.raises(ValueError, match="frozen"):
        recipe.seed = 2  # type: ignore[misc]
    assert isinstance(recipe, Recipe)


def test_thousands_of_problems_are_found_quickly() -> None:
    text = text_of() + "".join(f"learning_rat{i}: 1\n" for i in range(3000))
    found: list[int] = []
    assert cpu_seconds(lambda: found.append(len(problems_of(text)))) < 10
    assert found == [3000]


def test_every_pattern_of_a_recipe_has_words() -> None:
    patterns = set(re.findall(r'"pattern": ("(?:[^"\\]|\\.)*")', schema_text()))
    keys = re.findall(r'"patternProperties": \{\s*("(?:[^"\\]|\\.)*")', schema_text())
    found = {json.loads(pattern) for pattern in (*patterns, *keys)}
    assert len(found) >= 6
    assert found - {"^x-"} == PATTERNS.keys()
