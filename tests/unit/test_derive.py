"""What a recipe file may leave out because it follows from the rest."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosscast.messages.diagnostics import Collector
from crosscast.recipe.derive import derive
from crosscast.recipe.document import BERT_PRESETS, BertModel
from recipe_texts import problems_of, recipe_of, text_of


def derived(**raw: Any) -> dict[str, Any]:
    collect = Collector()
    data = derive(raw, collect)
    assert collect.diagnostics == []
    return data


@pytest.mark.parametrize(
    ("loss", "kind"),
    [
        ({}, "cross_entropy"),
        ({"label_smoothing": 0.1}, "cross_entropy"),
        ({"target": "ids"}, "cross_entropy"),
        ({"kind": "mse"}, "mse"),
        ({"kind": 1}, 1),
        ({"function": {"torch": "a:b"}}, None),
    ],
)
def test_a_loss_is_cross_entropy_unless_it_says_otherwise(loss: dict[str, Any], kind: Any) -> None:
    assert derived(loss=loss)["loss"].get("kind") == kind
    assert "loss" not in derived()


def triple(data: dict[str, Any]) -> tuple[object, object, object]:
    batch, accumulation = data["batch"], data["accumulation"]
    return batch.get("micro_batch_size"), accumulation.get("steps"), batch.get("global_batch_size")


@pytest.mark.parametrize(
    ("micro", "steps", "whole", "expected"),
    [
        (4, 3, 24, (4, 3, 24)),
        (4, 3, None, (4, 3, 24)),
        (4, None, 24, (4, 3, 24)),
        (None, 3, 24, (4, 3, 24)),
        (4, None, None, (4, 1, 8)),
        (None, None, 24, (12, 1, 24)),
        (None, 3, None, (None, 3, None)),
        (None, None, None, (None, None, None)),
        # what does not come out whole is rounded, for a rule to complain about the product
        (4, None, 20, (4, 2, 20)),
        (100, None, 4, (100, 1, 4)),
        (None, 5, 24, (2, 5, 24)),
        # nothing given is changed, right or wrong
        (4, 3, 25, (4, 3, 25)),
        (0, None, 24, (0, 1, 24)),
        ("4", 3, None, ("4", 3, None)),
        (True, 3, None, (True, 3, None)),
        (4, "x", 24, (4, "x", 24)),
        (4, 3, 0, (4, 3, 0)),
    ],
)
def test_batch_sizes_with_two_processes(
    micro: object, steps: object, whole: object, expected: tuple[object, object, object]
) -> None:
    given_batch = {"micro_batch_size": micro, "global_batch_size": whole}
    data = derived(
        batch={name: value for name, value in given_batch.items() if value is not None},
        accumulation={"steps": steps} if steps is not None else {},
        distributed={"processes_per_node": 2},
    )
    assert triple(data) == expected


def test_sections_that_are_left_out_are_made() -> None:
    data = derived(batch={"micro_batch_size": 3})
    assert triple(data) == (3, 1, 3)
    assert triple(derived()) == (None, None, None)


@pytest.mark.parametrize("strange", [None, 1, "x", (), True])
def test_strange_sections_are_left_to_validation(strange: object) -> None:
    raw = dict.fromkeys(
        ("model", "batch", "accumulation", "distributed", "precision", "schedule"), strange
    )
    assert derived(**raw) == {**raw, "loss_scaling": {"mode": "none"}}


counts = st.integers(1, 2**15)


@given(counts, counts, counts, st.sampled_from(("micro", "steps", "whole", "none")))
def test_derived_sizes_satisfy_the_product(
    micro: int, steps: int, processes: int, left_out: str
) -> None:
    whole = micro * steps * processes
    batch = {"micro_batch_size": micro, "global_batch_size": whole}
    if left_out in ("micro", "whole"):
        del batch["micro_batch_size" if left_out == "micro" else "global_batch_size"]
    data = derived(
        batch=batch,
        accumulation={} if left_out == "steps" else {"steps": steps},
        distributed={"processes_per_node": processes},
    )
    assert triple(data) == (micro, steps, whole)


@given(st.integers(1, 500), st.integers(1, 500), st.sampled_from((1, 2, 3)))
def test_sizes_that_do_not_come_out_whole_are_a_contradiction(
    micro: int, whole: int, processes: int
) -> None:
    text = text_of(
        batch=f"{{micro_batch_size: {micro}, global_batch_size: {whole}}}",
        accumulation="{}",
        distributed=f"{{strategy: data_parallel, processes_per_node: {processes}}}",
    )
    codes = [problem.code for problem in problems_of(text)]
    assert codes == ([] if whole % (micro * processes) == 0 else ["CC201"])


@pytest.mark.parametrize(
    ("ratio", "total", "steps"),
    [
        (0, 10, 0),
        (0.0, 10, 0),
        (1, 10, 10),
        (1.0, 7, 7),
        (0.1, 120, 12),
        (0.29, 100, 29),
        (0.1, 9, 0),
        (0.999, 10, 9),
        (1 / 3, 3, 1),
        (0.1, 2**31 - 1, 214748364),
    ],
)
def test_warm_up_ratio(ratio: float, total: int, steps: int) -> None:
    data = derived(schedule={"total_steps": total, "warmup_ratio": ratio})
    assert data["schedule"] == {"total_steps": total, "warmup_steps": steps}


@pytest.mark.parametrize("ratio", [-0.1, 1.1, "0.1", True])
def test_a_wrong_warm_up_ratio_is_left_to_validation(ratio: object) -> None:
    schedule = {"total_steps": 10, "warmup_ratio": ratio}
    assert derived(schedule=schedule)["schedule"] == schedule


def test_a_warm_up_ratio_of_null_is_none() -> None:
    recipe = recipe_of(schedule="{total_steps: 9, warmup_steps: 3, warmup_ratio: null}")
    assert recipe.schedule.warmup_steps == 3


def test_warm_up_steps_and_ratio_exclude_each_other() -> None:
    collect = Collector()
    schedule = {"total_steps": 10, "warmup_steps": 0, "warmup_ratio": 0.1}
    derive({"schedule": schedule}, collect)
    assert [(diagnostic.code, diagnostic.path) for diagnostic in collect.diagnostics] == [
        ("CC203", "schedule.warmup_ratio")
    ]


def model_of(text: str) -> BertModel:
    model = recipe_of(model=text).model
    assert isinstance(model, BertModel)
    return model


@pytest.mark.parametrize("preset", BERT_PRESETS)
def test_presets_fill_the_sizes(preset: str) -> None:
    model = model_of(f"{{kind: bert, preset: {preset}, labels: 3}}")
    assert {name: getattr(model, name) for name in BERT_PRESETS[preset]} == BERT_PRESETS[preset]


def test_given_sizes_win_over_the_preset() -> None:
    model = model_of("{kind: bert, layers: 5, preset: tiny, labels: 3}")
    assert (model.layers, model.hidden_size) == (5, 128)


def test_a_custom_model_has_no_preset() -> None:
    data = derived(model={"kind": "custom", "preset": "tiny"})
    assert data["model"] == {"kind": "custom", "preset": "tiny"}


@pytest.mark.parametrize(
    ("precision", "mode"),
    [
        ("{mode: mixed, compute_dtype: float16}", "dynamic"),
        ("{mode: mixed, compute_dtype: bfloat16}", "none"),
        ("{mode: none}", "none"),
        (None, "none"),
    ],
)
def test_loss_scaling_follows_from_the_precision(precision: str | None, mode: str) -> None:
    assert recipe_of(precision=precision).loss_scaling.mode == mode


def test_a_given_loss_scaling_is_kept() -> None:
    recipe = recipe_of(
        precision="{mode: mixed, compute_dtype: float16}", loss_scaling="{mode: none}"
    )
    assert recipe.loss_scaling.mode == "none"


def test_the_input_is_not_changed() -> None:
    raw = {"batch": {"micro_batch_size": 1}, "schedule": {"total_steps": 9, "warmup_ratio": 0.5}}
    before = deepcopy(raw)
    derived(**raw)
    assert raw == before
