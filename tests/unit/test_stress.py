"""Recipes that exercise what a recipe has, and the faults for their loss scale."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.plan import loss_scale
from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Step, UpdateScale
from crosscast.recipe import rules
from crosscast.recipe.bert_shapes import bert_shapes
from crosscast.recipe.document import BertModel, Recipe
from crosscast.reference.optimizer_formulas import settings_of
from crosscast_parity.evidence.recorded_run import judges_of
from crosscast_parity.exercise import fields
from crosscast_parity.exercise.fields import Exercise
from crosscast_parity.exercise.rules import rule_for
from crosscast_parity.recipes.stress import stress_recipe
from crosscast_parity.recipes.stress_scale import HIGHEST, stress_faults
from crosscast_parity.recipes.window_rows import expected_counts
from observed_runs import recorded_runs
from parity_recipes import plain, stress
from property_settings import examples
from recipe_strategies import recipes
from tiers import cases, exhaustive

EXCEPTIONS = {
    "precision.ops.embeddings": "a lookup may stay in float32 under half",
    "clipping.eps": "the usual 1e-6 and none at all differ by less than float32 shows",
    "data.train_rows": "where rows are carried over, an epoch has no end that shows",
    "optimizer.groups": "a pattern may fit nothing",
    "optimizer.no_decay": "groups may decide about all weights that it names",
    "optimizer.weight_decay": "groups may decide about all weights",
}
EPSILONS = ("adam", "adamw", "lamb", "adafactor")
FROZEN = ("*bias*", "*.key.bias", "*weight*")
ALL = {"parameters": ("*",), "weight_decay": 0.01}
ALONE: dict[str, Any] = {
    "batch": {"micro_batch_size": 1, "global_batch_size": 1},
    "accumulation": {"steps": 1},
}
"""Windows of one row."""
berts = recipes().filter(lambda recipe: isinstance(recipe.model, BertModel))
MACHINE = {
    "loss_scaling__growth_factor": (2.0, 4.0, 1.001, 65536.0),
    "loss_scaling__backoff_factor": (0.5, 0.25, 0.999, 2.0**-16),
    "loss_scaling__growth_interval": (1, 3, 2000),
    "loss_scaling__hysteresis": (1, 2, 3, 9),
    "loss_scaling__hysteresis_mode": ("consecutive", "cumulative"),
    "loss_scaling__min_scale": (1.0, None),
    "loss_scaling__max_scale": (None, 2.0**40),
    "accumulation__tail": ("flush", "drop", "carry", "flush_renormalized"),
}
machines = st.fixed_dictionaries({k: st.sampled_from(v) for k, v in MACHINE.items()})


@settings(max_examples=examples(50))
@given(berts)
def test_it_is_valid_small_and_keeps_the_kinds(recipe: Recipe) -> None:
    stressed, changes = stress_recipe(recipe)
    assert rules.check(stressed) == []
    assert isinstance(stressed.model, BertModel)
    assert (stressed.model.hidden_size, stressed.model.layers) == (64, 2)
    assert stressed.optimizer.name == recipe.optimizer.name
    assert stressed.clipping.kind == recipe.clipping.kind
    assert stressed.loss_scaling.mode == recipe.loss_scaling.mode
    assert stressed.precision == recipe.precision
    assert stressed.schedule.name == recipe.schedule.name
    assert stressed.schedule.tick == recipe.schedule.tick
    assert stressed.accumulation.normalize_by == recipe.accumulation.normalize_by
    assert stressed.accumulation.tail == recipe.accumulation.tail
    assert bool(stressed.ema.decay) == bool(recipe.ema.decay)
    assert bool(stressed.schedule.warmup_steps) == bool(recipe.schedule.warmup_steps)
    assert changes
    assert stress_recipe(stressed)[0] == stressed


@settings(max_examples=examples(2, fresh=12))
@given(berts)
def test_nothing_but_known_exceptions_stays_unexercised(recipe: Recipe) -> None:
    stressed, _ = stress_recipe(recipe)
    assume(_trains(stressed))
    known = {*EXCEPTIONS, *(["clipping.kind"] if recipe.clipping.kind == "none" else [])}
    if getattr(recipe.loss_scaling, "min_scale", 1.0) is None:
        known.add("loss_scaling.min_scale")  # of none, a very low one is never told
    assert [path for path in _unexercised(stressed) if path not in known] == []


def test_a_short_window_of_one_micro_batch_is_exercised_without_another_divisor() -> None:
    recipe = plain(
        batch={"micro_batch_size": 1, "global_batch_size": 1},
        accumulation={"steps": 1, "normalize_by": "microbatch"},
        optimizer={"name": "sgd", "learning_rate": 1e-3},
        data__shuffle=False,
    )
    assert _one_of(stress_recipe(recipe)[0], "accumulation.tail").status != "not exercised"


def test_without_clipping_another_kind_shows_where_a_gradient_is_large() -> None:
    recipe = stress(clipping={"kind": "none"})
    found = _one_of(recipe, "clipping.kind")
    assert found.status == "not exercised"
    # They would clip at 1, and the gradients of these runs are smaller.
    assert found.wording.endswith("all checks pass with per_param_norm and value, too")


def test_rows_that_are_dropped_make_the_same_steps_as_rows_that_are_carried() -> None:
    assert (
        _one_of(stress(accumulation__tail="carry"), "accumulation.tail").status != "not exercised"
    )


EXEMPT = [("bias", "layer_norm", "embedding"), ("layer_norm", "embedding")]


@pytest.mark.parametrize(
    "exempt", cases(map(pytest.param, EXEMPT), quick=EXEMPT[:1], reason="fewer exempt roles")
)
def test_exempt_roles_leave_something_to_clip(exempt: tuple[str, ...]) -> None:
    clipping = {"kind": "global_norm", "max_norm": 1e-3, "eps": 0.0, "exempt": exempt}
    recipe = plain(clipping=clipping, accumulation={"steps": 2}, batch__global_batch_size=16)
    assert _one_of(stress_recipe(recipe)[0], "clipping.eps").status != "not exercised"


def test_where_no_weight_is_trained_the_optimizer_is_not_exercised() -> None:
    frozen = {"groups": ({"parameters": ("*",), "rate_factor": 0.0},)}
    recipe = plain(optimizer={"name": "sgd", "learning_rate": 0.1, **frozen})
    assert not _trains(recipe)
    found = _unexercised(stress_recipe(recipe)[0], "optimizer")
    assert {"optimizer.name", "optimizer.momentum"} <= set(found)


@exhaustive("groups beside LAMB")
def test_where_groups_let_all_weights_decay_nothing_is_left_to_always_adapt() -> None:
    lamb = {"name": "lamb", "learning_rate": 0.1, "weight_decay": 0.0, "always_adapt": False}
    for groups, left in (
        ((ALL,), False),
        (({"parameters": ("*.bias",), "rate_factor": 0.0}, ALL), False),  # frozen
        (({"parameters": ("*.weight",), "weight_decay": 0.01},), True),
    ):
        recipe = plain(optimizer={**lamb, "groups": groups}, **ALONE)
        found = _one_of(recipe, "optimizer.always_adapt")
        assert found.status == ("exercised" if left else "not used"), found


def test_the_slow_momentum_of_lion_shows() -> None:
    lion = {"name": "lion", "learning_rate": 1e-3, "betas": (0.9, 0.999), "weight_decay": 0.0}
    recipe = plain(optimizer=lion, clipping={"kind": "value", "max_value": 1.0}, **ALONE)
    assert _one_of(stress_recipe(recipe)[0], "optimizer.betas.0").status != "not exercised"


@pytest.mark.parametrize("frozen", cases(FROZEN, quick=["*bias*"], reason="more frozen weights"))
@pytest.mark.parametrize("name", cases(EPSILONS, quick=["adamw"], reason="more frozen weights"))
def test_an_epsilon_shows_where_weights_are_frozen(name: str, frozen: str) -> None:
    groups = ({"parameters": (frozen,), "rate_factor": 0.0},)
    optimizer = {"name": name, "learning_rate": 1e-3, "weight_decay": 0.0, "groups": groups}
    assert not _unexercised(stress_recipe(plain(optimizer=optimizer))[0], "optimizer.eps")


def test_a_large_epsilon_of_adafactor_hides_nothing_of_clipped_gradients() -> None:
    optimizer = {"name": "adafactor", "learning_rate": 1.0, "eps": (1e-3, 0.1)}
    clipping = {"kind": "value", "max_value": 1e6}
    recipe = stress_recipe(plain(optimizer=optimizer, clipping=clipping))[0]
    assert not _unexercised(recipe, "optimizer")


@pytest.mark.parametrize("frozen", cases(FROZEN, quick=["*bias*"], reason="more frozen weights"))
def test_adafactor_shows_where_weights_are_frozen_and_gradients_clipped(frozen: str) -> None:
    groups = ({"parameters": (frozen,), "rate_factor": 0.0},)
    optimizer = {"name": "adafactor", "learning_rate": 1.0, "groups": groups}
    clipping = {"kind": "value", "max_value": 1e6}
    recipe = stress_recipe(plain(optimizer=optimizer, clipping=clipping))[0]
    assert not _unexercised(recipe, "optimizer")


@pytest.mark.parametrize(
    "computed",
    cases(
        ["", "matmul", "pointwise", "reductions", "embeddings", "losses"],
        quick=["", "pointwise"],
        reason="more types of operations",
    ),
)
def test_a_type_that_no_operation_computes_in_is_not_used(computed: str) -> None:
    kinds = ("matmul", "pointwise", "reductions", "embeddings", "losses")
    ops = {kind: "half" if kind == computed else "float32" for kind in kinds}
    recipe = stress(precision__ops=ops)
    found = _one_of(recipe, "precision.compute_dtype")
    assert found.status == ("exercised" if computed else "not used"), found


@pytest.mark.parametrize("growth", cases([1.001, 1.1, 4.0], quick=[1.1], reason="more growth"))
def test_the_highest_scale_shows_on_both_sides_of_a_slow_growth(growth: float) -> None:
    scale = {"loss_scaling__growth_factor": growth, "loss_scaling__max_scale": 65536.0}
    assert _one_of(stress(**scale), "loss_scaling.max_scale").status != "not exercised"


@pytest.mark.parametrize("mode", ["consecutive", "cumulative"])
@pytest.mark.parametrize(
    "hysteresis", cases([1, 2, 3], quick=[2], reason="other numbers of overflows")
)
def test_a_back_off_above_the_lowest_scale_shows(hysteresis: int, mode: str) -> None:
    names = {"hysteresis": hysteresis, "hysteresis_mode": mode}
    recipe = stress(**{f"loss_scaling__{name}": value for name, value in names.items()})
    assert not _unexercised(recipe, "loss_scaling")


def _unexercised(recipe: Recipe, section: str = "") -> list[str]:
    found = _exercised_by(recipe, section)
    return [o.path for o in found if o.status == "not exercised" and not _never(o.path)]


def _one_of(recipe: Recipe, path: str) -> Exercise:
    (found,) = _exercised_by(recipe, path)
    return found


def _exercised_by(recipe: Recipe, section: str) -> list[Exercise]:
    """As `exercise` of the fields of a section; others take most of its time."""
    runs = tuple(recorded_runs(recipe, stress_faults(recipe, 64)))
    board = fields._Board(runs, tuple(map(judges_of, runs)))
    paths = [path for path in fields.fields_of(recipe) if path.startswith(section)]
    return [fields._exercise_field(recipe, path, board) for path in paths]


def _trains(recipe: Recipe) -> bool:
    """Whether groups leave any weight of the shipped BERT a learning rate."""
    step = canonical_plan(recipe).find(Step)
    assert step is not None
    assert isinstance(recipe.model, BertModel)
    return any(settings_of(step, name, ())[1] for name in bert_shapes(recipe.model))


def _never(path: str) -> bool:
    rule = rule_for(path)
    return rule is not None and rule.needs == "never"


@settings(max_examples=examples(100))
@given(machines)
def test_the_faults_take_the_scale_through_all_its_states(changes: dict[str, object]) -> None:
    recipe = stress(**changes)
    machine = canonical_plan(recipe).find(UpdateScale)
    assert machine is not None
    faults = stress_faults(recipe, 64)
    bad = {fault.window for fault in faults}
    assert 0 in bad
    assert any({a, a + 1} <= bad for a in bad)
    assert max(bad) < 60
    states = [loss_scale.initial(machine)]
    for window in range(64):
        states.append(loss_scale.adjust(machine, states[-1], window not in bad))
    scales = [state.scale for state in states]
    assert max(scales) <= HIGHEST
    assert machine.min_scale in scales if machine.min_scale else min(scales) < 1
    assert any(b > a for a, b in pairwise(scales))
    # No overflow comes at the lowest scale, where scripts may stop.
    assert all(scales[window] > machine.min_scale for window in bad)
    if machine.hysteresis > 1:
        assert any(scales[w + 1] == scales[w] for w in bad)
        assert any(scales[w + 1] < scales[w] for w in bad)


@settings(max_examples=examples(30))
@given(machines)
def test_no_scale_grows_too_high_without_faults(changes: dict[str, object]) -> None:
    machine = canonical_plan(stress(**changes)).find(UpdateScale)
    assert machine is not None
    state = loss_scale.initial(machine)
    for _ in range(64):
        state = loss_scale.adjust(machine, state, True)
    assert state.scale <= HIGHEST
    assert state.scale > machine.init_scale


def test_faults_lie_in_micro_batches_that_exist_and_take_turns() -> None:
    recipe = stress()
    faults = stress_faults(recipe, 64)
    counts = expected_counts(recipe, 58)
    n_micro = [n for _, (n, _) in zip(range(64), counts, strict=False)]
    assert n_micro[3] == 3
    assert 3 in {fault.window for fault in faults}
    assert all(fault.micro < n_micro[fault.window] for fault in faults)
    assert {fault.kind for fault in faults} == {"inf", "-inf", "nan"}
    middle = [f for f in faults if 0 < f.micro < n_micro[f.window] - 1]
    assert middle
    assert [fault.names for fault in faults if fault.names] == ["classifier.*"]


def test_short_runs_have_the_first_faults_only() -> None:
    recipe = stress()
    assert stress_faults(recipe, 3) == tuple(f for f in stress_faults(recipe, 64) if f.window < 3)
    assert stress_faults(recipe, 0) == ()


def test_a_constant_scale_meets_overflows_too() -> None:
    recipe = stress(loss_scaling={"mode": "static", "scale": 1e9})
    assert recipe.loss_scaling.model_dump() == {"mode": "static", "scale": HIGHEST}
    assert [fault.window for fault in stress_faults(recipe, 64)] == [0, 2, 3, 6]


def test_without_a_scale_there_are_no_faults() -> None:
    recipe = stress(
        loss_scaling={"mode": "none"}, precision={"mode": "mixed", "compute_dtype": "bfloat16"}
    )
    assert stress_faults(recipe, 64) == ()


def test_what_was_changed_is_told() -> None:
    _, changes = stress_recipe(plain())
    assert "clipping.max_norm: 1 became 0.35" in changes
    assert "optimizer.weight_decay: 0.01 became 0.1" in changes
    assert "model.hidden_size: 512 became 64" in changes
    assert not [line for line in changes if line.startswith(("seed", "name", "optimizer.eps"))]


def test_no_feature_is_added() -> None:
    recipe, _ = stress_recipe(
        plain(
            clipping={"kind": "none"},
            optimizer__weight_decay=0.0,
            schedule__warmup_steps=0,
            accumulation__steps=1,
            batch__global_batch_size=8,
        )
    )
    assert recipe.clipping.kind == "none"
    assert recipe.optimizer.weight_decay == 0.0
    assert recipe.schedule.warmup_steps == 0
    assert recipe.accumulation.steps == 1
    assert recipe.ema.decay is None


def test_a_custom_model_cannot_be_stressed() -> None:
    model = {"kind": "custom", "factory": {"torch": "m:main"}}
    with pytest.raises(DiagnosticError, match="CC704"):
        stress_recipe(plain(model=model))
