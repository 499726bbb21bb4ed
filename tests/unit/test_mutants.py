"""The catalogue of bugs is sound: every one fits the emitted files, and is a bug."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.load import load
from crosscast_parity.checks.kinds import LEVELS
from crosscast_parity.self_test.mutation import Mutation
from mutants.bugs import bugs_of
from mutants.catalogue import BUGS, GROUPS, Bug, groups_in
from mutants.emitted import undefined_names, variants
from mutants.explained import SURVIVORS
from mutants.rewrites import COMPILED, REWRITES
from mutants.settings import groups
from mutants.spelling import runtime, written
from mutants.trials import RECIPE
from tiers import cases

FRAMEWORKS = ("torch", "tensorflow", "paddle", "jax")
VARIANTS = ("main", "stress", "float32", "dropout")
_PROTOTYPE = """
no_accum_div clip_before_unscale no_unscale no_skip_overflow interval_off_by_one scale_never_grows
scale_init_x2 growth_x4 backoff_quarter no_scaler sched_on_skip update_per_micro no_dynamic eps_1e-6
eps_1e-7 eps_hat eps_inside_sqrt no_bias_corr l2_not_decoupled wd_on_all wd_zero beta2_0.98
beta1_0.95 warmup_off_by_one warmup_starts_one warmup_in_micro no_warmup cosine_decay
decay_to_total_x2 last_micro_dropped zero_grad_each_micro zero_grad_missing fp16_grad_accum
tail_dropped tail_div_by_count clip_per_param no_clip clip_value clip_x2 gelu_tanh ln_eps_1e-3
ln_eps_1e-5 scale_sqrt_hidden no_mask dropout_on tied_layout sum_loss label_smooth order_shift
no_master bf16_for_fp16 amp_off softmax_half loss_half
"""
NOT_IN = {("tensorflow", "dropout_on"): {"dropout"}}
"""Variants that have no place for a bug."""
HALF_ONLY = {("counted", "float32"), ("counted", "dropout")}
"""Rewrites with the variants that have no place for them."""
PROTOTYPE = _PROTOTYPE.split()
"""Bugs with which the method was tried out; the first step of the warm-up has rate zero here."""


def rewrites_of(framework: str) -> tuple[Mutation, ...]:
    return (*REWRITES[framework], *COMPILED.get(framework, ()))


@cache
def planted(framework: str) -> dict[str, dict[str, dict[str, str]]]:
    """Return the changed files by bug and variant; variants without the bug are left out."""
    return {
        bug.name: {
            name: files
            for name, texts in variants(framework).items()
            if (files := bug.mutate(texts))
        }
        for bug in bugs_of(framework)
    }


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_bug_fits_and_changes_the_program(framework: str) -> None:
    for bug, variants_with_it in planted(framework).items():
        assert variants_with_it, f"{bug} is in no variant of the script"
        for variant, files in variants_with_it.items():
            for name, text in files.items():
                assert text != variants(framework)[variant][name], (bug, variant, name)


@pytest.mark.parametrize(
    "variant", cases(VARIANTS, quick=[], reason="parses the scripts with a bug")
)
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_script_with_a_bug_is_still_a_program(framework: str, variant: str) -> None:
    for bug, variants_with_it in planted(framework).items():
        for name, text in variants_with_it.get(variant, {}).items():
            ast.parse(text, f"{framework}-{bug}-{name}")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_changes_use_names_that_are_defined(framework: str, tmp_path: Path) -> None:
    """A bug that stops its script by a NameError is another one than its title says."""
    assert (
        undefined_names(framework, [*bugs_of(framework), *rewrites_of(framework)], tmp_path) == ""
    )


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_an_undefined_name_is_told(framework: str, tmp_path: Path) -> None:
    start = runtime("rows", "itertools.count(start)", "itertools.count(first)")
    told = undefined_names(framework, written({"no_clip": start}), tmp_path)
    assert told.count("Undefined name `first`") == len(VARIANTS)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_bugs_of_half_precision_stay_out_of_float32(framework: str) -> None:
    for bug, variants_with_it in planted(framework).items():
        every = {"main", "stress"} if BUGS[bug].half else set(VARIANTS)
        assert variants_with_it.keys() == every - NOT_IN.get((framework, bug), set()), bug


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_spellings_are_alternatives(framework: str) -> None:
    """Two that fit one script would be one bug in two halves, of which only the first is made."""
    for bug in bugs_of(framework):
        for variant, texts in variants(framework).items():
            fits = [form for form in bug.forms if all(edit.fits(texts) for edit in form)]
            assert len(fits) <= 1, (bug.name, variant)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_names_are_unique_and_those_of_the_catalogue(framework: str) -> None:
    bugs = bugs_of(framework)
    names = [bug.name for bug in bugs]
    assert len(set(names)) == len(names)
    for bug in bugs:
        known = BUGS[bug.name]
        assert (bug.title, bug.field, bug.expected) == (known.title, known.field, known.expected)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_framework_has_all_bugs_of_the_prototype_and_more(framework: str) -> None:
    names = {bug.name for bug in bugs_of(framework)}
    assert set(PROTOTYPE) <= names
    assert len(PROTOTYPE) == 54
    assert len(names) >= 90


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_no_two_bugs_are_the_same_program(framework: str) -> None:
    seen: dict[str, str] = {}
    for bug, variants_with_it in planted(framework).items():
        text = "".join(variants_with_it["main"].values())
        assert seen.setdefault(text, bug) == bug


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_framework_has_many_bugs_that_few_windows_do_not_show(framework: str) -> None:
    families = (GROUPS["late"], GROUPS["products"], GROUPS["single"], GROUPS["types"])
    names = {bug.name for family in families for bug in family}
    assert len(names & {bug.name for bug in bugs_of(framework)}) >= 60


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_rewrites_fit_and_are_programs_of_their_own(framework: str) -> None:
    seen = {"".join(files["main"].values()) for files in planted(framework).values()}
    for rewrite in rewrites_of(framework):
        for variant, texts in variants(framework).items():
            files = rewrite.mutate(texts)
            assert files or (rewrite.name, variant) in HALF_ONLY, (rewrite.name, variant)
            for name, text in files.items():
                assert text != texts[name]
                ast.parse(text, f"{framework}-{rewrite.name}-{name}")
        text = "".join(rewrite.mutate(variants(framework)["main"]).values())
        assert text not in seen, rewrite.name
        seen.add(text)


def test_every_rewrite_is_compared() -> None:
    compared = {
        (framework, rewrite.name)
        for group in groups()
        for setting in group.settings
        for framework, rewrite in setting.programs
        if rewrite
    }
    every = {
        (framework, rewrite.name) for framework in REWRITES for rewrite in rewrites_of(framework)
    }
    assert compared == every
    assert len({name for _, name in every}) >= 12
    for framework in FRAMEWORKS:
        titles = [rewrite.title for rewrite in rewrites_of(framework)]
        assert len(set(titles)) == len(titles)


def test_the_catalogue_says_something_of_every_bug() -> None:
    bugs = [bug for group in GROUPS.values() for bug in group]
    assert len(BUGS) == len(bugs)
    assert len({bug.title for bug in bugs}) == len(bugs)
    for bug in bugs:
        assert bug.title
        assert bug.expected
        assert set(bug.expected) <= set(LEVELS)
    assert set(SURVIVORS) <= set(BUGS)


CATALOGUE = """\
Words.

[one]
# Why.
first*  L1b L1a  -  it is wrong

[other]
second  L0a  a.b  so
"""


def test_a_catalogue_is_read() -> None:
    assert groups_in(CATALOGUE) == {
        "one": (Bug("first", "it is wrong", "", ("L1b", "L1a"), half=True),),
        "other": (Bug("second", "so", "a.b", ("L0a",)),),
    }


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[other]", "[other"),
        ("[other]", "[one]"),
        ("second  L0a  a.b  so\n", ""),
        ("first*  ", "first* "),
        ("L1b L1a", "L1b L9"),
        ("second", "first"),
        (CATALOGUE, ""),
        (CATALOGUE, "Words.\n"),
    ],
)
def test_a_catalogue_with_a_mistake_is_refused(old: str, new: str) -> None:
    assert old in CATALOGUE
    with pytest.raises(ValueError, match=r"no bug|no name|two groups|two of one name"):
        groups_in(CATALOGUE.replace(old, new))


def test_fields_are_those_of_recipes() -> None:
    recipe = load(str(RECIPE)).model_dump()
    for bug in BUGS.values():
        place = recipe
        for part in bug.field.split(".") if bug.field else ():
            assert part in place, bug.name
            place = place[part]


def test_a_changed_script_is_noticed() -> None:
    """An edit that fits in part must not be made in part."""
    bug = next(bug for bug in bugs_of("torch") if bug.name == "hysteresis_2")
    texts = dict(variants("torch")["main"])
    texts["train.py"] = texts["train.py"].replace("updates: int = 0", "updates: int = 1")
    with pytest.raises(DiagnosticError, match="CC734"):
        bug.mutate(texts)
