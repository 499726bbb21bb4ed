"""lift(compile(recipe)) == recipe: what a script was made of can be read from it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from crosscast.messages.source import Source
from crosscast.recipe.document import Recipe
from crosscast_reading.lift.analysis import analyse
from crosscast_reading.lift.drafting import lift
from crosscast_reading.lift.flat_recipe import flat
from lift_round_trip import TARGETS, compared, emitted, read_back
from property_settings import examples
from recipe_strategies import recipes
from tiers import cases


def of_tier(targets: Sequence[str]) -> list[Any]:
    """Return targets, each in its tier."""
    quick = [name for name in targets if name in ("torch", "tensorflow", "paddle", "jax")]
    return cases(targets, quick, "scripts of older dialects, read back")


@pytest.mark.parametrize("target", of_tier(TARGETS))
@settings(max_examples=examples(3, fresh=12))
@given(recipe=recipes())
def test_every_field_that_matters_is_read_back(target: str, recipe: Recipe) -> None:
    sources = emitted(recipe, target)
    if sources is None:
        return
    assert compared(recipe, read_back(sources), target) == {}
    if "@" not in target:
        lifted = lift(analyse(sources))
        assert lifted.recipe is not None, lifted.diagnostics
        assert compared(recipe, flat(lifted.recipe), target) == {}


GOLDENS = Path(__file__).parents[2] / "emission" / "goldens"


@pytest.mark.parametrize("name", sorted(path.name for path in GOLDENS.iterdir() if path.is_dir()))
def test_what_an_emitted_script_does_is_not_doubted(name: str) -> None:
    kinds = (".py", ".sh", ".sbatch")
    files = [path for path in (GOLDENS / name).iterdir() if path.stem.endswith(kinds)]
    lifted = lift(analyse([Source(f"out/{path.stem}", path.read_text()) for path in files]))
    doubts = ("divided", "train together")
    assert [o for o in lifted.diagnostics if any(word in o.message for word in doubts)] == []


@pytest.mark.parametrize("target", of_tier(TARGETS))
def test_mixed_precision_without_a_half_operation_is_float32(target: str) -> None:
    from recipe_texts import build, text_of

    kinds = ("matmul", "pointwise", "reductions", "embeddings", "losses")
    ops = dict.fromkeys(kinds, "float32")
    data = build(text_of()).model_dump() | {
        "precision": {"mode": "mixed", "compute_dtype": "bfloat16", "ops": ops}
    }
    recipe = Recipe.model_validate(data)
    sources = emitted(recipe, target)
    if sources is not None:
        assert compared(recipe, read_back(sources), target) == {}


OWN = {
    "model": "{kind: custom, factory: {torch: 'a:b', tensorflow: 'a:b', paddle: 'a:b',"
    " jax: 'a:b'}}",
    "data": "{source: npz, train: a, eval: b}",
}
OWN_LOSS = "kind: custom, function: {torch: 'own.losses:of_rows', tensorflow: 'o:p', paddle: 'q:r',"
OWN_LOSS += " jax: 's:t'}"
BY_TOKEN = "{normalize_by: token}"
METRICS = "{custom: {mae: {torch: 'a.b:c', tensorflow: 'a:b', paddle: 'a:b', jax: 'a:b'},"
METRICS += " F1: {torch: 'a:b', tensorflow: 'b:c', paddle: 'd:e', jax: 'f:g'}}}"
LOSSES: list[dict[str, str]] = [
    {"loss": "{label_smoothing: 0.1}"},
    {"loss": "{class_weights: [0.5, 1, 2]}"},
    {"loss": "{target: ids, label_smoothing: 0.25}", "accumulation": BY_TOKEN, **OWN},
    {"loss": "{target: ids, class_weights: [1, 3.5]}", "accumulation": BY_TOKEN, **OWN},
    {"loss": "{kind: mse, target: y}", **OWN},
    {"loss": "{kind: mse}", "accumulation": "{normalize_by: microbatch}", **OWN},
    {"loss": "{kind: binary_cross_entropy}", **OWN},
    {"loss": f"{{{OWN_LOSS}}}", **OWN},
    {"loss": f"{{{OWN_LOSS}}}", "metrics": METRICS, **OWN},
    {"loss": "{label_smoothing: 0.5}", "metrics": METRICS},
    {"loss": f"{{{OWN_LOSS}, target: ids}}", "accumulation": BY_TOKEN, **OWN},
]


@pytest.mark.parametrize("target", ["torch", "tensorflow", "paddle", "jax"])
def test_types_are_read_with_a_row_in_a_micro_batch(target: str) -> None:
    """Rows and micro-batches of a full window are as many then."""
    from recipe_texts import recipe_of

    recipe = recipe_of(
        version="2",
        batch="{micro_batch_size: 1, global_batch_size: 2}",
        accumulation="{steps: 2, tail: flush}",
        precision="{mode: none}",
    )
    sources = emitted(recipe, target)
    assert sources is not None
    found = read_back(sources)
    assert found["accumulation.normalize_by"] == "sample"
    assert compared(recipe, found, target) == {}


@pytest.mark.parametrize("target", ["torch", "tensorflow", "paddle"])
def test_types_are_read_beside_another_loss(target: str) -> None:
    from recipe_texts import FLOAT16, recipe_of

    recipe = recipe_of(version="2", precision=FLOAT16, loss="{label_smoothing: 0.5}")
    sources = emitted(recipe, target)
    assert sources is not None
    found = read_back(sources)
    assert found["version"] == 2
    assert compared(recipe, found, target) == {}


@pytest.mark.parametrize("target", ["torch", "tensorflow", "paddle"])
def test_types_of_an_edited_model_are_not_guessed(target: str) -> None:
    """One residual sum more: no recipe prints that."""
    from recipe_texts import FLOAT16, recipe_of

    sources = emitted(recipe_of(version="2", precision=FLOAT16), target)
    assert sources is not None
    sums = re.compile(r"\((residual|x) \+ (x|y)\)")
    edited = [Source(s.name, sums.sub(r"(\1 + \2 + \2)", s.text, count=1)) for s in sources]
    assert edited != sources
    found = read_back(edited)
    assert {path: found[path] for path in found if path.startswith("precision.ops")} == {
        "precision.ops": None
    }


@pytest.mark.parametrize(
    "changes",
    cases(LOSSES, quick=[LOSSES[index] for index in (0, 2, 4, 8)], reason="more losses"),
    ids=lambda changes: changes["loss"],
)
@pytest.mark.parametrize("target", of_tier([name for name in TARGETS if name != "paddle@fleet"]))
def test_losses_are_read_back(target: str, changes: dict[str, str]) -> None:
    from recipe_texts import recipe_of

    recipe = recipe_of(**changes)
    sources = emitted(recipe, target)
    assert sources is not None
    found = read_back(sources)
    assert compared(recipe, found, target) == {}
    wanted = recipe.loss.model_dump()
    function = f"loss.function.{target.partition('@')[0]}"
    assert found.get(function, "") == wanted.get("function", {}).get(function.split(".")[-1], "")
    lifted = lift(analyse(sources))
    assert lifted.recipe is not None, lifted.diagnostics
    assert compared(recipe, flat(lifted.recipe), target) == {}


@pytest.mark.parametrize("target", ["torch", "tensorflow", "paddle"])
def test_an_edited_loss_is_not_called_cross_entropy(target: str) -> None:
    from recipe_texts import recipe_of

    sources = emitted(recipe_of(**OWN, loss="{kind: mse}"), target)
    assert sources is not None
    edited = [
        Source(s.name, re.sub(r"[\w.]+\.(mse_loss|squared_difference)\(", "huber(", s.text))
        for s in sources
    ]
    assert not [path for path in read_back(edited) if path.startswith("loss.")]


@pytest.mark.parametrize("lowest", [1.0, 0.5, None])
@pytest.mark.parametrize("target", of_tier(TARGETS))
def test_the_lowest_scale_is_read_back(target: str, lowest: float | None) -> None:
    from recipe_texts import recipe_of

    scaling = (
        f"{{mode: dynamic, init_scale: 2.0, min_scale: {'null' if lowest is None else lowest}}}"
    )
    recipe = recipe_of(
        precision=DENSE if target == "paddle@fleet" else "{mode: mixed, compute_dtype: float16}",
        loss_scaling=scaling,
    )
    sources = emitted(recipe, target)
    assert sources is not None
    found = lift(analyse(sources)).fields["loss_scaling.min_scale"]
    assert (found.value, found.how) == (lowest, "read")


DENSE = (
    "{mode: mixed, compute_dtype: float16, ops: {matmul: compute, pointwise: float32, "
    "reductions: float32, embeddings: float32, losses: float32}}"
)
"""All that fleet computes in half; few of the recipes that are drawn say just that."""


def adamw(no_decay: str) -> str:
    return f"{{name: adamw, learning_rate: 1.0e-3, weight_decay: 0.1, no_decay: {no_decay}}}"


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"optimizer": adamw("[layer_norm]")},
        {"optimizer": adamw("[bias, embedding]")},
        {"optimizer": adamw("[]")},
        {"loss_scaling": "{mode: static, scale: 1.0}"},
        {"loss_scaling": "{mode: none}"},
        {"loss_scaling": "{mode: none}", "precision": "{mode: none}"},
        {"schedule": "{name: linear, total_steps: 10, tick: attempt}"},
    ],
    ids=str,
)
def test_a_script_for_fleet_is_read_back(changes: dict[str, str]) -> None:
    from recipe_texts import recipe_of

    scaling = "{mode: static, scale: 8.0}"
    fields = {"precision": DENSE, "loss_scaling": scaling, "optimizer": adamw("[bias, layer_norm]")}
    recipe = recipe_of(**(fields | changes))
    sources = emitted(recipe, "paddle@fleet")
    assert sources is not None
    assert compared(recipe, read_back(sources), "paddle@fleet") == {}


@pytest.mark.parametrize("losses", ["half", "float32"])
@pytest.mark.parametrize("target", of_tier(["torch", "tensorflow", "tensorflow@2.10", "paddle"]))
def test_a_scaled_loss_is_one_of_float16_though_nothing_is_computed_in_it(
    target: str, losses: str
) -> None:
    from recipe_texts import build, text_of

    ops = dict.fromkeys(("matmul", "pointwise", "reductions", "embeddings"), "float32")
    data = build(text_of()).model_dump() | {
        "precision": {
            "mode": "mixed",
            "compute_dtype": "float16",
            "ops": {**ops, "losses": losses},
        },
        "loss_scaling": {"mode": "static", "scale": 64.0},
    }
    recipe = Recipe.model_validate(data)
    sources = emitted(recipe, target)
    assert sources is not None
    lifted = lift(analyse(sources)).recipe
    assert lifted is not None
    assert (
        lifted.precision.model_copy(update={"policy": recipe.precision.policy}) == recipe.precision
    )


@pytest.mark.parametrize(
    ("target", "written"),
    [
        ("torch", "    accumulation_steps={},\n"),
        ("tensorflow", "\nACCUMULATION_STEPS = {}\n"),
        ("paddle@fleet", "\nACCUMULATION_STEPS = {}\n"),
    ],
)
def test_edits_of_a_script_are_read(target: str, written: str) -> None:
    from recipe_texts import recipe_of

    sources = emitted(recipe_of(optimizer=adamw("[]")), target)
    assert sources is not None
    before = read_back(sources)
    steps = int(before["accumulation.steps"])
    edit = (written.format(steps), written.format(steps + 3))
    edited = [type(source)(source.name, source.text.replace(*edit)) for source in sources]
    assert read_back(edited)["accumulation.steps"] == steps + 3


def test_other_programs_are_not_taken_for_emitted_ones() -> None:
    from crosscast.messages.source import Source

    text = "SETTINGS = Settings(seed=1)\n\n\ndef train_window():\n    pass\n"
    assert read_back([Source("a.py", text)]) == {}
