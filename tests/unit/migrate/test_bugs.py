"""Mistakes of a source: corrected, kept where a recipe can say them, told where it cannot."""

from __future__ import annotations

import pytest

import migration_sources
from crosscast.messages.source import Source
from crosscast.recipe.document import Recipe
from crosscast.recipe.schema import field_names
from crosscast_migrate.across_frameworks import CrossMigration, migrate_across
from crosscast_migrate.bug_table import BUGS
from crosscast_migrate.bugs import Fate, changed, recipe_of
from crosscast_migrate.carried_fields import NOWHERE
from crosscast_reading.facts.vocabulary import VOCABULARY
from crosscast_reading.lift.recipe_draft import Filled
from crosscast_reading.lift.resolved_values import MEANT
from own_parts import own_rules


def moved(text: str, *, keep: bool = False, name: str = "train.py") -> CrossMigration:
    return migrate_across([Source(name, text)], ["torch"], keep_bugs=keep)


def fate(across: CrossMigration, rule: str) -> Fate:
    return next(fate for fate in across.fates if fate.rule == rule)


def test_every_rule_of_lint_has_a_row() -> None:
    assert set(BUGS) == {rule.code for rule in own_rules()}


def test_every_row_is_about_a_section_of_the_recipe() -> None:
    sections = set(Recipe.model_fields)
    for bug in BUGS.values():
        for path in (bug.path, *bug.keep, *bug.correct):
            assert not path or path.partition(".")[0] in sections, bug.rule


def test_every_fact_is_carried_by_a_field_or_by_none_for_a_reason() -> None:
    for name, entry in VOCABULARY.items():
        whole = entry.recipe and not entry.recipe.endswith(".")
        assert whole or name in MEANT or name in NOWHERE, name


@pytest.mark.parametrize("path", sorted(MEANT.values()))
def test_the_fields_that_carry_facts_exist(path: str) -> None:
    section, _, name = path.partition(".")
    tag = {"loss_scaling": {"mode": "dynamic"}, "optimizer": {"name": "sgd"}}.get(section, {})
    tag = {"clipping": {"kind": "none"}, "loss": {"kind": "cross_entropy"}}.get(section, tag)
    assert name in field_names((section,), {section: tag})


def test_losses_that_are_summed_are_averaged() -> None:
    across = moved(migration_sources.SUMMED)
    assert fate(across, "CL101").became == "changed on purpose"
    assert across.recipe.optimizer.learning_rate == 0.5
    assert [
        diagnostic.code
        for diagnostic in across.diagnostics
        if diagnostic.path == "accumulation.normalize_by"
    ] == ["CC973"]


def test_a_sum_is_kept_by_the_rate_where_the_update_is_linear() -> None:
    across = moved(migration_sources.SUMMED, keep=True)
    assert fate(across, "CL101").became == "kept"
    assert across.recipe.optimizer.learning_rate == 2.0
    assert "CL101" in across.text


@pytest.mark.parametrize("rest", ["lr=0.5, weight_decay=0.1", "lr=0.5, weight_decay=rate"])
def test_a_sum_is_not_kept_by_the_rate_under_decay(rest: str) -> None:
    text = migration_sources.SUMMED.replace("lr=0.5", rest)
    across = moved(text, keep=True)
    assert fate(across, "CL101").became == "cannot be kept"
    assert across.recipe.optimizer.learning_rate == 0.5


def test_a_sum_is_not_kept_by_the_rate_of_adam() -> None:
    text = migration_sources.SUMMED.replace("SGD(", "Adam(")
    assert fate(moved(text, keep=True), "CL101").became == "cannot be kept"


def test_clipping_of_scaled_gradients_cannot_be_kept() -> None:
    across = moved(migration_sources.CLIPS_SCALED, keep=True)
    assert fate(across, "CL301").became == "cannot be kept"
    diagnostics = [diagnostic for diagnostic in across.diagnostics if diagnostic.code == "CC974"]
    assert len(diagnostics) == 1
    assert diagnostics[0].span is not None
    assert diagnostics[0].span.line == 14


def test_a_missing_loss_scale_is_put_in() -> None:
    across = moved(migration_sources.UNSCALED)
    assert across.recipe.loss_scaling.mode == "dynamic"
    assert fate(across, "CL206").became == "changed on purpose"
    assert "loss_scaling.mode" not in across.fill_in


def test_a_missing_loss_scale_is_kept() -> None:
    across = moved(migration_sources.UNSCALED, keep=True)
    assert across.recipe.loss_scaling.mode == "none"
    assert fate(across, "CL206").became == "kept"


def test_a_misspelt_name_is_corrected() -> None:
    across = moved(migration_sources.APEX_TYPO)
    assert fate(across, "CL214").became == "changed on purpose"
    assert across.recipe.loss_scaling.mode == "dynamic"


def test_flags_that_bash_loses_are_for_the_user_to_decide() -> None:
    across = moved(migration_sources.LAUNCH_COMMENT, name="run.sh")
    assert fate(across, "CL920").became == "as it runs"
    assert "CC975" in [diagnostic.code for diagnostic in across.diagnostics]
    assert "optimizer.learning_rate" in across.fill_in  # bash never gave it to the program


def test_an_old_api_is_no_mistake_of_training() -> None:
    across = moved(migration_sources.APEX)
    assert fate(across, "CL902").became == "of no recipe"
    assert not [
        diagnostic
        for diagnostic in across.diagnostics
        if diagnostic.code in ("CC973", "CC974", "CC975")
    ]


def test_a_clean_source_has_no_mistakes() -> None:
    assert [fate.rule for fate in moved(migration_sources.TORCH).fates] == []


def test_a_section_is_replaced_as_a_whole() -> None:
    fields = {
        "loss_scaling.mode": Filled(value="dynamic"),
        "loss_scaling.init_scale": Filled(value=2.0),
    }
    after = changed(fields, {"loss_scaling": {"mode": "none"}}, "why")
    assert {path: setting.value for path, setting in after.items()} == {"loss_scaling.mode": "none"}


def test_fields_that_make_no_recipe_make_none() -> None:
    assert recipe_of({"version": Filled(value=1)}) is None
