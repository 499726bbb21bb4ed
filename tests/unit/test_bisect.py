"""Bisection, with the reference interpreter as the script that does not follow its recipe."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import combinations

import pytest

from crosscast.recipe.document import Recipe
from crosscast.variations.table import shown_path, vary
from crosscast_parity.bisect.judgement import RecordedRuns
from crosscast_parity.bisect.recipes import bisect_recipes, differences
from crosscast_parity.bisect.script_cause import bisect_script
from crosscast_parity.bisect.trials import Bisection
from crosscast_parity.checks.check import Check
from crosscast_parity.checks.kinds import Level
from crosscast_parity.compare.bisection import replaced_in, same_loss
from crosscast_parity.evidence.recorded_run import RecordedRun
from crosscast_parity.evidence.replay import Replayed
from crosscast_parity.levels.replay import UPDATE_LIMIT
from crosscast_parity.recipes.derived import at_stress_scale, changed, in_float32
from crosscast_parity.recipes.stress_scale import stress_faults
from observed_runs import Script, recorded_runs
from parity_recipes import stress
from tiers import cases, exhaustive

BASE = stress()
FAULTS = stress_faults(BASE, 64)

SINGLES = {
    "optimizer.eps": (1e-6, 1e-7),
    "optimizer.eps_placement": ("before_correction",),
    "optimizer.bias_correction": (False,),
    "optimizer.name": ("adam", "lamb"),
    "optimizer.weight_decay": (0.0, 0.2),
    "optimizer.no_decay": ((), ("bias",)),
    "optimizer.betas.0": (0.95,),
    "optimizer.betas.1": (0.98,),
    "optimizer.learning_rate": (2e-3,),
    "clipping.kind": ("none", "per_param_norm"),
    "clipping.max_norm": (0.7,),
    "schedule.name": ("cosine",),
    "schedule.warmup_steps": (21, 19, 0),
    "schedule.total_steps": (128,),
    "schedule.power": (2.0, 1.7),
    "schedule.tick": ("attempt",),
    "loss_scaling.init_scale": (256.0,),
    "loss_scaling.growth_factor": (4.0,),
    "loss_scaling.backoff_factor": (0.25,),
    "loss_scaling.growth_interval": (10, 12),
    "loss_scaling.hysteresis": (2,),
    "loss_scaling.min_scale": (1.0,),
    "accumulation.tail": ("flush", "drop", "carry"),
    "accumulation.normalize_by": ("microbatch",),
    "accumulation.steps": (3,),
    "precision.compute_dtype": ("bfloat16",),
    "precision.ops.reductions": ("half",),
    "precision.ops.losses": ("half",),
}
QUICK = (
    *("optimizer.eps", "clipping.max_norm", "loss_scaling.hysteresis"),
    *("accumulation.tail", "precision.compute_dtype"),
)
"""Fields of which `make test` finds a wrong value: one of every kind."""


def mutant(*changes: tuple[str, object]) -> Recipe:
    recipe = BASE
    for path, value in changes:
        varied = vary(recipe, path, value)
        assert varied is not None, (path, value)
        recipe = varied.recipe
    return recipe


def recorded(script: Recipe) -> RecordedRuns:
    """Return the runs of a script, with what other tests found out about them."""
    return _recorded(script.model_dump_json())


@cache
def _recorded(script: str) -> RecordedRuns:
    seen = recorded_runs(Recipe.model_validate_json(script), FAULTS, claimed=BASE)
    return RecordedRuns(BASE, tuple(seen))


@pytest.mark.parametrize(
    ("path", "value"),
    cases(
        ((path, value) for path, values in SINGLES.items() for value in values),
        quick=[(path, SINGLES[path][0]) for path in QUICK],
        reason="more wrong fields and values",
    ),
)
def test_a_script_with_one_wrong_field_is_named(path: str, value: object) -> None:
    found = bisect_script(recorded(mutant((path, value))))
    assert found.outcome == "explained", found.sentence
    assert found.fields == (shown_path(path),), found.sentence
    assert found.sentence.startswith(f"the script behaves as {found.changes[0]} does; ")
    assert found.trials[0].changes == ()
    assert found.trials[0].failing


PAIRS = random.Random(4).sample(
    [
        pair
        for pair in combinations(sorted(SINGLES), 2)
        if not {"optimizer.name", "clipping.kind", "accumulation.steps"} & set(pair)
        and not all(path.startswith("precision") for path in pair)
        and pair != ("loss_scaling.hysteresis", "loss_scaling.min_scale")
        # bfloat16 has no loss scaling of which something could be wrong, too.
        and not (pair[0].startswith("loss_scaling") and "precision.compute_dtype" in pair)
    ],
    10,
)


QUICK_PAIRS = [("loss_scaling.growth_interval", "precision.ops.reductions")]
EACH_PAIR = pytest.mark.parametrize(
    "pair",
    cases(map(pytest.param, PAIRS), quick=QUICK_PAIRS, reason="nine more drawn pairs"),
    ids=" and ".join,
)


@EACH_PAIR
def test_a_script_with_two_wrong_fields_has_both_named(pair: tuple[str, str]) -> None:
    script = mutant(*((path, SINGLES[path][0]) for path in pair))
    found = bisect_script(recorded(script))
    assert found.outcome == "explained", found.sentence
    assert set(found.fields) == {shown_path(path) for path in pair}, found.sentence


def test_a_wrong_field_that_never_acted_is_not_named() -> None:
    # With twice the overflows for a back-off, the scale never falls to its lowest.
    script = mutant(("loss_scaling.hysteresis", 2), ("loss_scaling.min_scale", 1.0))
    assert bisect_script(recorded(script)).fields == ("loss_scaling.hysteresis",)


@exhaustive("a number that is searched for")
def test_a_number_that_is_not_in_the_table_is_fitted() -> None:
    found = bisect_script(recorded(mutant(("optimizer.weight_decay", 0.137))))
    assert found.outcome == "explained"
    assert found.fields == ("optimizer.weight_decay",)
    assert float(found.changes[0].partition(": ")[2]) == pytest.approx(0.137, rel=0.02)
    assert f"(limit {UPDATE_LIMIT:g})" in found.sentence


READ_OFF = {
    "schedule.warmup_steps": 13,
    "loss_scaling.growth_interval": 7,
    "loss_scaling.init_scale": 192.0,
    "loss_scaling.growth_factor": 3.0,
    "optimizer.learning_rate": 1.7e-3,
}


@pytest.mark.parametrize(
    "path",
    cases(
        READ_OFF,
        quick=["loss_scaling.growth_interval", "optimizer.learning_rate"],
        reason="more numbers that are read off the trace",
    ),
)
def test_numbers_are_read_off_the_trace(path: str) -> None:
    found = bisect_script(recorded(mutant((path, READ_OFF[path]))))
    assert found.fields == (path,), found.sentence


def test_a_script_that_follows_its_recipe_needs_no_explanation() -> None:
    found = bisect_script(recorded(BASE))
    assert (found.outcome, found.fields, found.trials) == ("no difference", (), ())


def broken(seen: RecordedRun) -> RecordedRun:
    """A script that makes every second update twice as long: no recipe does."""
    if seen.observation is None:
        return seen
    windows = [
        replace(w, after={n: a + w.window % 2 * (a - w.before[n]) for n, a in w.after.items()})
        for w in seen.observation.windows
    ]
    for number, window in enumerate(windows[1:], start=1):
        shift = {n: windows[number - 1].after[n] - a for n, a in window.before.items()}
        windows[number] = replace(
            window,
            before={n: a + shift[n] for n, a in window.before.items()},
            after={n: a + shift[n] for n, a in window.after.items()},
        )
    return replace(seen, observation=replace(seen.observation, windows=tuple(windows)))


@exhaustive("a search through every field")
def test_what_no_recipe_explains_is_not_explained() -> None:
    seen = [broken(recorded_run) for recorded_run in recorded(BASE).runs]
    found = bisect_script(RecordedRuns(BASE, tuple(seen)))
    assert found.outcome == "not explained"
    assert found.fields == ()
    assert found.sentence.startswith("no field of the recipe, alone or with others, explains it")
    assert len(found.trials) > 10


def check(level: Level, name: str, value: float, limit: float) -> Check:
    return Check(
        level=level,
        name=name,
        result="pass" if value <= limit else "fail",
        wording="",
        value=value,
        limit=limit,
    )


def gradients(script: Recipe) -> Callable[[Recipe], tuple[Check, ...]]:

    def run(recipe: Recipe) -> tuple[Check, ...]:
        off = sum(
            getattr(recipe.model, name) != getattr(script.model, name)
            for name in ("layer_norm_eps", "attention_heads")
        ) + (recipe.data.shuffle != script.data.shuffle)
        return (check("L1a", "first gradients, initial", 2e-6 + 0.1 * off, 1e-5),)

    return run


def test_what_records_do_not_show_is_trained() -> None:
    script = changed(BASE, {"model.layer_norm_eps": 1e-5})
    run = gradients(script)
    recorded_script = replace(recorded(BASE), run=run)  # the model leaves no trace in records
    found = bisect_script(recorded_script, checks=run(BASE))
    assert found.outcome == "explained"
    assert found.fields == ("model.layer_norm_eps",)
    assert "L1a first gradients, initial 0.1 -> 2e-06 (limit 1e-05)" in found.sentence
    assert {trial.by for trial in found.trials} == {"records", "run"}


def test_records_first_then_a_training_on_top() -> None:
    seen = mutant(("optimizer.eps", 1e-6))
    run = gradients(changed(seen, {"data.shuffle": False}))
    found = bisect_script(replace(recorded(seen), run=run), checks=run(BASE))
    assert found.outcome == "explained"
    assert found.fields == ("optimizer.eps", "data.shuffle")


def test_a_model_that_no_field_explains() -> None:
    def run(recipe: Recipe) -> tuple[Check, ...]:
        return (check("L1a", "first gradients, initial", 0.3, 1e-5),)

    found = bisect_script(replace(recorded(BASE), run=run), checks=run(BASE))
    assert found.outcome == "not explained"
    assert found.fields == ()
    assert len([trial for trial in found.trials if trial.by == "run"]) > 5


def test_without_a_way_to_train_the_rest_stays_open() -> None:
    script = changed(BASE, {"model.layer_norm_eps": 1e-5})
    found = bisect_script(recorded(BASE), checks=gradients(script)(BASE))
    assert found.outcome == "not explained"


def test_the_evidence_is_plain_data() -> None:
    found = bisect_script(recorded(mutant(("optimizer.eps", 1e-6))))
    assert math.inf in [trial.value for trial in found.trials]
    text = json.dumps(found.to_json())
    assert "optimizer.eps: 1e-06" in text
    assert "inf" in [trial["value"] for trial in json.loads(text)["trials"]]


# Two recipes


def own_court() -> RecordedRuns:
    seen = [
        replace(recorded_run, derive=derive)
        for recorded_run, derive in zip(
            recorded(BASE).runs, (in_float32, at_stress_scale, same, same), strict=True
        )
    ]
    return RecordedRuns(BASE, tuple(seen))


def both(theirs: Recipe) -> Bisection:
    return bisect_recipes(own_court(), theirs)


def same(recipe: Recipe) -> Recipe:
    return recipe


def test_only_the_field_that_matters_is_blamed() -> None:
    theirs = mutant(("optimizer.eps", 1e-6), ("loss_scaling.max_scale", 65536.0))
    theirs = changed(theirs, {"model.init_std": 0.5, "name": "other", "precision.tf32": True})
    found = both(theirs)
    assert found.fields == ("optimizer.eps",), found.sentence
    assert "optimizer.eps (1e-08 -> 1e-06) explains the difference" in found.sentence
    assert "3 fields more that differ cause no difference that a check detects" in found.sentence


@EACH_PAIR
def test_of_two_recipes_both_fields_are_blamed(pair: tuple[str, str]) -> None:
    theirs = mutant(*((path, SINGLES[path][0]) for path in pair))
    theirs = changed(theirs, {"model.init_std": 0.5, "precision.tf32": True})
    found = both(theirs)
    named = {path.replace(".betas[0]", ".betas").replace(".betas[1]", ".betas") for path in pair}
    named = {path.replace("betas.0", "betas").replace("betas.1", "betas") for path in named}
    assert named <= {name.replace("precision.mode", "") for name in found.fields}, found.sentence
    assert "model.init_std" not in found.fields


def test_other_kinds_are_one_difference() -> None:
    theirs = changed(BASE, {"clipping": {"kind": "value", "max_value": 0.1}})
    assert [difference.path for difference in differences(BASE, theirs)] == ["clipping"]
    assert both(theirs).fields == ("clipping",)


def test_equal_recipes_make_no_difference() -> None:
    theirs = changed(BASE, {"model.init_std": 0.5})
    found = both(theirs)
    assert found.outcome == "no difference"
    assert differences(BASE, changed(BASE, {"name": "other"})) == []


def test_two_recipes_that_differ_in_the_model_are_trained() -> None:
    theirs = changed(BASE, {"model.layer_norm_eps": 1e-5, "model.init_std": 0.5})
    found = bisect_recipes(replace(own_court(), run=gradients(BASE)), theirs)
    assert found.fields == ("model.layer_norm_eps",)
    assert {trial.by for trial in found.trials} == {"run"}


@pytest.mark.parametrize(
    ("variant", "path", "value", "replaced"),
    [
        ("stress", "loss_scaling.init_scale", 256.0, True),
        ("main", "loss_scaling.init_scale", 256.0, False),
        # There is no such field in float32: what fails there is not explained by it.
        ("float32", "loss_scaling.init_scale", 256.0, False),
        ("stress", "loss_scaling.growth_interval", 20, False),
        ("stress", "optimizer.eps", 1e-6, False),
        ("float32", "optimizer.eps", 1e-6, False),
        ("float32", "precision.ops.losses", "half", False),
    ],
)
def test_a_variant_may_replace_what_two_recipes_differ_in(
    variant: str, path: str, value: object, replaced: bool
) -> None:
    assert replaced_in(variant, BASE, changed(BASE, {path: value})) is replaced


@pytest.mark.parametrize(("claimed", "other"), [("sample", "microbatch"), ("microbatch", "sample")])
def test_a_loss_of_the_claimed_kind_may_be_divided_as_the_other_one_is(
    claimed: str, other: str
) -> None:
    ours = changed(BASE, {"accumulation.normalize_by": claimed})
    theirs = changed(BASE, {"accumulation.normalize_by": other})
    observation = Script(ours, 0, "bert").train(40, (), range(40))[1]
    assert observation is not None
    windows = [
        replace(
            window,
            factors=tuple(
                window.row.scale / (n_micro * rows if claimed == "sample" else sum(sizes) / rows)
                for rows in sizes
            ),
        )
        for window in observation.windows
        for sizes in [window.micro_rows]
        for n_micro in [len(sizes)]
    ]
    assert any(len(set(window.micro_rows)) > 1 and not window.row.skipped for window in windows)
    seen = Replayed(ours, replace(observation, windows=tuple(windows)))
    assert [check.result for check in seen.factors(ours)] == ["fail"]
    assert [check.result for check in seen.factors(theirs)] == ["pass"]
    halved = [replace(w, factors=tuple(f and f / 2 for f in w.factors)) for w in windows]
    assert [
        check.result
        for check in Replayed(ours, replace(observation, windows=tuple(halved))).factors(theirs)
    ] == ["fail"]


@pytest.mark.parametrize(
    ("first", "other", "same"),
    [
        ("sample", "microbatch", False),
        ("microbatch", "token", False),
        ("sample", "token", True),
        ("microbatch", "microbatch", True),
    ],
)
def test_losses_of_micro_batches_are_sums_or_means(first: str, other: str, same: bool) -> None:
    ours, theirs = (changed(BASE, {"accumulation.normalize_by": unit}) for unit in (first, other))
    assert same_loss(ours, theirs) is same
