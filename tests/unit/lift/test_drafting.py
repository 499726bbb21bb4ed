"""Facts to recipes: what is said, what defaults fill in, what is left to the user."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from crosscast.recipe.document import AdamW, DynamicLossScaling, GlobalNormClipping
from crosscast_reading.facts.command import Command
from crosscast_reading.facts.fact import Fact
from crosscast_reading.lift.drafting import Lifted, lift, slug
from crosscast_reading.lift.run_sections import warmup_length
from reading_helpers.lift_facts import HALF, PLAIN, analysis, fact, open_fact


def lifted(*facts: Fact) -> Lifted:
    return lift(analysis(facts))


def codes(found: Lifted) -> set[str]:
    return {diagnostic.code for diagnostic in found.diagnostics}


def test_what_a_source_says_is_in_the_recipe_with_its_place() -> None:
    found = lifted(
        *PLAIN,
        *HALF,
        fact("accumulation.present", "yes", 20),
        fact("accumulation.steps", 4, 20, origin="flag", expression="args.steps"),
        fact("accumulation.loss_divided", "yes", 21),
        fact("accumulation.tail", "stepped", 22),
        fact("clipping.kind", "global_norm", 30),
        fact("clipping.value", 2.5, 30),
        fact("schedule.name", "linear", 50),
        fact("schedule.warmup", 100, 51),
        fact("schedule.total_steps", 5000, 52),
        fact("schedule.on_skip", "steps", 53),
        fact("batch.micro_batch_size", 16, 60),
        fact("seed", 7, 61),
        fact("ema.decay", 0.999, 62),
    )
    recipe = found.recipe
    assert recipe is not None
    assert (recipe.precision.mode, recipe.precision.compute_dtype) == ("mixed", "float16")
    assert isinstance(recipe.loss_scaling, DynamicLossScaling)
    assert (recipe.accumulation.steps, recipe.accumulation.tail) == (4, "flush")
    assert recipe.accumulation.normalize_by == "microbatch"
    assert isinstance(recipe.clipping, GlobalNormClipping)
    assert recipe.clipping.max_norm == 2.5
    assert isinstance(recipe.optimizer, AdamW)
    assert recipe.optimizer.learning_rate == 2e-5
    assert (recipe.schedule.name, recipe.schedule.warmup_steps) == ("linear", 100)
    assert (recipe.schedule.total_steps, recipe.schedule.tick) == (5000, "attempt")
    assert recipe.batch.global_batch_size == 64
    assert (recipe.seed, recipe.ema.decay) == (7, 0.999)
    assert "steps: 4                          # train.py:20 (args.steps)" in found.text
    assert "max_norm: 2.5                     # train.py:30" in found.text
    assert found.fields["accumulation.steps"].places[0].line == 20


def test_defaults_of_the_library_fill_what_is_not_said_and_say_so() -> None:
    found = lifted(*PLAIN, *HALF)
    scale = found.fields["loss_scaling.init_scale"]
    assert (scale.value, scale.how) == (65536.0, "default")
    assert scale.note.startswith("default of torch ")
    assert found.fields["optimizer.eps"].value == 1e-8
    assert found.fields["optimizer.weight_decay"].note.startswith("default of torch")


def test_one_group_of_parameters_is_said_so() -> None:
    recipe = lifted(*PLAIN).recipe
    assert recipe is not None
    assert recipe.optimizer.no_decay == ()


def test_what_nobody_says_is_marked_and_listed() -> None:
    found = lifted(*PLAIN)
    assert found.recipe is not None
    assert {"model.kind", "data.train", "schedule.total_steps"} <= set(found.unsaid)
    assert "total_steps: 1000                 # FILL IN: not in the source" in found.text
    assert "optimizer.learning_rate" not in found.unsaid


def test_a_value_that_could_not_be_read_is_marked_with_its_text() -> None:
    found = lifted(
        fact("framework", "pytorch"),
        fact("optimizer.name", "adamw", 4, subject="o"),
        open_fact("optimizer.learning_rate", "cfg.lr", 5, subject="o"),
        fact("accumulation.present", "yes", 6),
        open_fact("accumulation.steps", "total // micro", 6),
    )
    assert {"optimizer.learning_rate", "accumulation.steps"} <= set(found.unsaid)
    assert "(cfg.lr is not known)" in found.text
    assert "(total // micro is not known)" in found.text


@pytest.mark.parametrize("value", [0, 0.0, -1.0])
def test_a_limit_that_is_not_positive_means_no_clipping(value: float) -> None:
    facts = fact("clipping.kind", "global_norm"), fact("clipping.value", value)
    recipe = lifted(*PLAIN, *facts).recipe
    assert recipe is not None
    assert recipe.clipping.kind == "none"


def test_scaling_that_is_there_and_switched_off_is_off() -> None:
    facts = (
        fact("precision.enabled", "flag", 3, expression="args.amp"),
        fact("precision.dtypes", ("float16",), 3),
        fact("precision.compute_dtype", "float32", 3),
        fact("loss_scaling.mode", "framework_default", 4),
    )
    found = lifted(*PLAIN, *facts)
    assert found.recipe is not None
    assert (found.recipe.precision.mode, found.recipe.loss_scaling.mode) == ("none", "none")
    assert "args.amp makes it float16" in found.text


def test_who_starts_it_decides_is_left_to_the_user() -> None:
    facts = (
        fact("precision.enabled", "config", 3),
        fact("precision.dtypes", ("float16", "bfloat16"), 3),
        fact("precision.compute_dtype", "launcher_or_config", 3),
    )
    found = lifted(*PLAIN, *facts)
    assert "CC912" in codes(found)
    assert "precision.mode" in found.unsaid


CANNOT: tuple[tuple[Any, ...], ...] = (
    (fact("clipping.kind", "layerwise"),),
    (fact("schedule.name", "step"),),
    (fact("schedule.name", "cosine"), fact("schedule.stepped_per", "epoch")),
    (
        fact("accumulation.present", "yes"),
        fact("accumulation.steps", 2),
        fact("accumulation.loss_divided", "no"),
    ),
    (
        fact("accumulation.present", "yes"),
        fact("accumulation.steps", 2),
        fact("accumulation.tail", "leak"),
    ),
    (fact("parallel.kind", ("megatron",)),),
    (fact("optimizer.name", "sgd", subject="discriminator"),),
)


@pytest.mark.parametrize("facts", CANNOT, ids=lambda facts: facts[-1].field)
def test_what_a_recipe_cannot_say_is_a_diagnostic_and_not_dropped(facts: tuple[Fact, ...]) -> None:
    found = lifted(*PLAIN, *facts)
    assert "CC911" in codes(found)
    assert found.recipe is not None
    assert all(
        diagnostic.span is not None
        for diagnostic in found.diagnostics
        if diagnostic.code == "CC911"
    )


@pytest.mark.parametrize(
    ("per", "how"), [("epoch", "assumed"), ("micro", "assumed"), ("step", "read")]
)
def test_a_length_in_other_units_than_updates_is_left_to_the_user(per: str, how: str) -> None:
    found = lifted(
        fact("schedule.name", "cosine"),
        fact("schedule.stepped_per", per),
        fact("schedule.total_steps", 30),
    )
    total = found.fields["schedule.total_steps"]
    assert total.how == how
    assert (total.value == 30) == (how == "read")
    assert how == "read" or total.note.startswith("30 ")


def test_an_optimizer_that_no_recipe_knows_is_said_and_not_taken_for_another() -> None:
    found = lifted(fact("framework", "pytorch"), fact("optimizer.name", "rmsprop", 3))
    assert "the optimizer is rmsprop" in " ".join(
        diagnostic.message for diagnostic in found.diagnostics
    )
    assert "optimizer.name" in found.unsaid


def test_two_optimizers_behind_a_switch_are_no_contradiction() -> None:
    facts = (
        fact("framework", "pytorch"),
        fact("optimizer.name", "sgd", 3, subject="o", under=("args.sgd",)),
        fact("optimizer.name", "adam", 5, subject="p", under=("not args.sgd",)),
    )
    found = lifted(*facts)
    assert "CC911" not in codes(found)
    assert "CC912" in codes(found)


def test_a_recipe_that_would_contradict_itself_is_none_and_says_why() -> None:
    facts = (
        fact("recipe.clipping.kind", "global_norm", 4),
        fact("recipe.clipping.max_norm", -1.0, 5),
    )
    found = lifted(*PLAIN, *facts)
    assert found.recipe is None
    (problem,) = [diagnostic for diagnostic in found.diagnostics if diagnostic.code == "CC914"]
    assert problem.path == "clipping.max_norm"
    assert problem.span is not None
    assert problem.span.line == 5


def test_facts_by_the_recipes_own_names_win_and_make_lists() -> None:
    facts = (
        fact("recipe.optimizer.name", "sgd", 4),
        fact("recipe.optimizer.learning_rate", 0.5, 4),
        fact("recipe.optimizer.groups.0.parameters", ("*.bias", "head.*"), 5),
        fact("recipe.optimizer.groups.0.rate_factor", 2.0, 5),
    )
    recipe = lifted(*PLAIN, *facts).recipe
    assert recipe is not None
    assert recipe.optimizer.name == "sgd"
    assert recipe.optimizer.groups[0].parameters == ("*.bias", "head.*")


def test_sources_that_do_not_train_make_no_recipe() -> None:
    found = lifted(fact("framework", "pytorch"))
    assert (found.recipe, found.text, codes(found)) == (None, "", {"CC915"})


def test_texts_of_a_source_cannot_break_out_of_a_comment() -> None:
    facts = open_fact("accumulation.steps", "a\nsteps: 99\x1b[31m\u2028x", 6)
    found = lifted(*PLAIN, fact("accumulation.present", "yes"), facts)
    assert found.recipe is not None
    assert found.recipe.accumulation.steps == 1
    assert "\x1b" not in found.text
    assert "\n  steps: 99" not in found.text


@pytest.mark.parametrize(
    ("length", "steps", "share"),
    [
        (100, 100, None),
        (0.1, None, 0.1),
        ("100 steps", 100, None),
        ("ratio 0.1", None, 0.1),
        ("20 epochs", None, None),
        ("args.warmup", None, None),
        ("500 * n", None, None),
        (True, None, None),
        (-1, None, None),
        (0, 0, None),
        (None, None, None),
    ],
)
def test_lengths_of_a_warm_up(length: object, steps: int | None, share: float | None) -> None:
    assert warmup_length(length) == (steps, share)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("train.py", "train"),
        ("nets/train.py", "nets-train"),
        ("a b/fine tune.py", "fine-tune"),
        ("<stdin>", "stdin"),
        ("___.py", "lifted"),
    ],
)
def test_names_of_recipes(name: str, expected: str) -> None:
    assert slug(name) == expected


def test_what_a_program_that_was_not_read_holds_is_not_absent() -> None:
    alone = analysis((fact("optimizer.learning_rate", 1e-3),), "run.sh")
    launch = replace(alone.subject, commands=(Command(program="train.py"),))
    found = lift(replace(alone, subject=launch))
    filled = found.fields["accumulation.steps"]
    assert (filled.value, filled.how, filled.note) == (1, "assumed", "train.py was not read")
    assert "accumulation.steps" in found.unsaid
    seen = lift(alone).fields["accumulation.steps"]
    assert (seen.how, seen.note) == ("assumed", "no training loop in the sources")


def test_a_warm_up_of_unknown_length_is_left_to_the_user() -> None:
    warm = (fact("schedule.name", "constant", 3), fact("schedule.has_warmup", "yes", 3))
    found = lifted(*PLAIN, *warm)
    assert found.fields["schedule.warmup_steps"].how == "assumed"
    assert "schedule.warmup_steps" in found.unsaid
    known = lifted(*PLAIN, *warm, fact("schedule.warmup", 100, 4))
    assert known.fields["schedule.warmup_steps"].value == 100
    none = lifted(*PLAIN, fact("schedule.has_warmup", "no", 3))
    assert none.fields["schedule.warmup_steps"].how == "read"
    assert none.fields["schedule.warmup_steps"].value == 0


@pytest.mark.parametrize(
    ("field", "path"),
    [("optimizer.weight_decay", "optimizer.weight_decay"), ("optimizer.eps", "optimizer.eps")],
)
def test_a_default_does_not_hold_for_what_a_source_sets_to_something_unknown(
    field: str, path: str
) -> None:
    untold = lifted(*PLAIN)
    assert untold.fields[path].how == "default"
    found = lifted(*PLAIN, open_fact(field, "decay(3)", 7, subject="opt"))
    assert found.fields[path].how == "assumed"
    assert found.fields[path].value == untold.fields[path].value
    assert found.fields[path].places
    assert "decay(3) is not known" in found.fields[path].note
    assert path in found.unsaid
    of_another = lifted(*PLAIN, open_fact(field, "decay(3)", 7, subject="other"))
    assert of_another.fields[path].how == "default"
    assert lifted(*PLAIN, fact(field, 0.125, 9, subject="opt")).fields[path].how == "read"


WARM = (fact("schedule.name", "constant", 3), fact("schedule.has_warmup", "yes", 3))
FIRST = "schedule.warmup_start_factor"


def test_a_warm_up_of_unknown_length_that_begins_above_nothing_is_told() -> None:
    start = fact(FIRST, None, 3, known=False, expression="(step + 1) / WARMUP")
    filled = lifted(*PLAIN, *WARM, start).fields
    assert filled["schedule.warmup_start_lr"].how == "assumed"
    assert "(step + 1) / WARMUP" in filled["schedule.warmup_start_lr"].note


def test_the_first_rate_of_a_warm_up_is_a_share_of_the_highest() -> None:
    length = fact("schedule.warmup", 9, 3)
    filled = lifted(*PLAIN, *WARM, length, fact(FIRST, 0.1, 4)).fields
    rate = filled["optimizer.learning_rate"].value
    first = filled["schedule.warmup_start_lr"]
    assert first.value == pytest.approx(rate / 10)
    assert (first.how, first.places[0].line) == ("derived", 4)


@pytest.mark.parametrize("field", [FIRST, "schedule.warmup_start_lr"])
def test_an_unknown_first_rate_is_left_to_the_user(field: str) -> None:
    start = fact(field, None, 4, known=False, expression="FLAGS.start")
    filled = lifted(*PLAIN, *WARM, fact("schedule.warmup", 9, 3), start).fields
    assert filled["schedule.warmup_start_lr"].how == "assumed"
    assert "FLAGS.start" in filled["schedule.warmup_start_lr"].note


def test_a_schedule_that_counts_from_1_is_no_recipe_s() -> None:
    start = fact("schedule.warmup_form", "ahead", 3)
    notes = [d for d in lifted(*PLAIN, *WARM, start).diagnostics if d.code == "CC911"]
    assert [note.path for note in notes] == ["schedule.warmup_steps"]
    assert "counts its steps from 1" in notes[0].message
    assert "CC911" not in codes(lifted(*PLAIN, *WARM))


KERAS_ADAM = (
    fact("framework", "tensorflow"),
    fact("optimizer.name", "adam", 40, subject="opt"),
    fact("optimizer.source_name", "tensorflow.keras.optimizers.Adam", 40, subject="opt"),
    fact("optimizer.learning_rate", 2e-5, 41, subject="opt"),
)


@pytest.mark.parametrize(
    ("field", "value", "both", "of"),
    [
        ("optimizer.betas.0", 0.8, [0.8, 0.999], "beta2: default of keras"),
        ("optimizer.betas.1", 0.98, [0.9, 0.98], "beta1: default of keras"),
    ],
)
def test_one_decay_alone_stands_beside_the_default_of_the_other(
    field: str, value: float, both: list[float], of: str
) -> None:
    found = lifted(*KERAS_ADAM, fact(field, value, 42, subject="opt"))
    betas = found.fields["optimizer.betas"]
    assert (betas.value, betas.how) == (both, "read")
    assert betas.places[0].line == 42
    assert betas.note.startswith(of)


def test_one_decay_alone_is_asked_for_where_no_default_or_no_value_is_known() -> None:
    unknown_class = [
        replace(given, value="lib.AdamOfMine") if given.field == "optimizer.source_name" else given
        for given in KERAS_ADAM
    ]
    found = lifted(*unknown_class, fact("optimizer.betas.1", 0.98, 42, subject="opt"))
    assert found.fields["optimizer.betas"].how == "assumed"
    assert found.fields["optimizer.betas"].value == [0.9, 0.98]
    assert "beta1 is not in the source" in found.fields["optimizer.betas"].note
    open_one = open_fact("optimizer.betas.0", "args.b1", 42, subject="opt")
    for more in ((), (fact("optimizer.betas.1", 0.98, 42, subject="opt"),)):
        betas = lifted(*KERAS_ADAM, open_one, *more).fields["optimizer.betas"]
        assert betas.how == "assumed"
    both = (fact("optimizer.betas.0", 0.8, 42, subject="opt"),
            fact("optimizer.betas.1", 0.98, 42, subject="opt"))  # fmt: skip
    assert lifted(*KERAS_ADAM, *both).fields["optimizer.betas"].note == ""


def test_what_is_unknown_about_how_something_is_done_sets_no_field() -> None:
    found = lifted(*PLAIN, open_fact("zero_grad.where", "f(x)", 7))
    assert found.fields["accumulation.steps"] == lifted(*PLAIN).fields["accumulation.steps"]
