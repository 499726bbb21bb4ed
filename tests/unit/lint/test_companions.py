"""A file beside a program takes no finding away that it does not disprove."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.registry import all_rules
from crosscast_reading.lint.rule import Rule
from crosscast_reading.sources.prefilter import may_train
from crosscast_reading.sources.subject_builder import subject_of
from reading_cases.files import cases_of
from tiers import exhaustive

COMPANION = '''\
"""Names of types and of what others do: bfloat16, no_sync, zero_grad, GradScaler, set_epoch."""

NAMES = {"bf16": "bfloat16", "fp16": "float16"}


def described(kind):
    # A program that calls optimizer.zero_grad(), scaler.unscale_(optimizer), model.no_sync() or
    # LossScaleOptimizer does more than this one: all_reduce, clip_grad_norm_, set_epoch.
    return NAMES.get(kind, "float32")
'''
RULES = [rule for rule in all_rules().values() if rule.language == "python"]


def found(*sources: Source) -> set[tuple[str, str, int]]:
    """Return code, file and line of the findings."""
    results = lint_sources(sources)
    return {(r.code, r.span.file, r.span.line) for r in results if r.is_finding and r.span}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_companion_that_only_names_things(rule: Rule) -> None:
    """Words in comments, docstrings and tables disprove nothing."""
    wrong = Source("train.py", rule.wrong)
    companion = Source("helpers.py", COMPANION)
    imports = Source("train.py", f"{rule.wrong}\nimport helpers\n")
    assert found(wrong) <= found(imports, companion)


def test_a_companion_that_holds_the_policy_counts() -> None:
    """A computed policy may come from any module."""
    rule = next(rule for rule in RULES if rule.code == "CL718")
    head = "import helpers\nimport keras\n"
    policy = "keras.mixed_precision.set_global_policy(helpers.described(kind))\n"
    chosen = f"{head}{policy}{rule.wrong}"
    types = COMPANION.replace('"bfloat16"', '"mixed_bfloat16"')
    assert found(Source("train.py", chosen), Source("helpers.py", types)) == set()


def test_a_companion_that_does_the_missing_step_counts() -> None:
    rule = next(rule for rule in RULES if rule.code == "CL604")
    companion = "def begin(sampler, epoch):\n    sampler.set_epoch(epoch)\n"
    imports = Source("train.py", f"{rule.wrong}\nimport helpers\n")
    assert found(imports, Source("helpers.py", companion)) == set()


def test_a_companion_that_is_called_counts() -> None:
    rule = next(rule for rule in RULES if rule.code == "CL604")
    companion = "def begin(optimizer, sampler, epoch):\n    sampler.set_epoch(epoch)\n"
    head = "for epoch in range(3):\n"
    assert head in rule.wrong
    begun = rule.wrong.replace(head, f"{head}    helpers.begin(optimizer, sampler, epoch)\n")
    imports = Source("train.py", f"import helpers\n{begun}")
    assert found(imports, Source("helpers.py", companion)) == set()
    idle = companion.replace("sampler.set_epoch(epoch)", "print(epoch)")
    assert {code for code, _, _ in found(imports, Source("helpers.py", idle))} == {"CL604"}


READINGS = Path(__file__).parents[1] / "readings"


@cache
def programs() -> dict[str, str]:
    """Return the programs of one file of the readings, by the title of the case."""
    cases = [(path.stem, case) for path in sorted(READINGS.glob("*.md")) for case in cases_of(path)]
    return {
        f"{stem}: {case.title}": case.sources[0].text
        for stem, case in cases
        if [source.name for source in case.sources] == ["train.py"] and may_train(case.sources[0])
    }


@cache
def trains(name: str) -> bool:
    """Tell whether a program has a step; of one without, the file beside it may be the rest."""
    return bool(subject_of([Source("train.py", programs()[name])])[0].steps)


@cache
def alone(name: str) -> frozenset[tuple[str, str, int]]:
    """Return the findings of a program without a companion."""
    return frozenset(found(Source("train.py", programs()[name])))


def pairs_of(seed: int, number: int) -> list[tuple[str, str]]:
    """Return programs and companions that train, drawn by a seed."""
    names = sorted(programs())
    random.Random(seed).shuffle(names)
    draw = filter(trains, names)  # reading all of them takes seconds, of every process
    return [(next(draw), next(draw)) for _ in range(number)]


def differences(name: str, beside: str) -> set[tuple[str, str, int]]:
    """Return the findings of a program that appear or vanish beside another whole program."""
    text = programs()[name]
    imports = Source("train.py", f"{text}\nimport helpers\n")
    both = found(imports, Source("helpers.py", programs()[beside]))
    return {each for each in both if each[1] == "train.py"} ^ alone(name)


DECIDED_BEFORE = [
    (
        "rules_flags: Flags about the step that nothing reads",
        "torch_trainers: Accelerate with a precision of which nothing is known",
    ),
    (
        "paddle_loops: A scaled loss that is only shown",
        "scales_bounded: Bounds of several forms: clamped",
    ),
    ("rules_loss_scaling: Updates of a window: late", "windows_of_libraries: Means of fluid"),
    (
        "paddle_precision: Regions, a decorated model, and scalers of which one is off",
        "rules_accumulation: Minimize of a scaler clears nothing",
    ),
    (
        "kept_in_float32: A transformer with LayerNorm behind its sums",
        "rules_half_weights: Weights that a flag casts",
    ),
    (
        "kept_in_float32: A mixed policy of Keras, in a loop",
        "kept_in_float32: Casts within a forward pass",
    ),
    (
        "kept_in_float32: Casts within a forward pass",
        "kept_in_float32: A mixed policy of Keras, in a loop",
    ),
    (
        "keras_scaling: Gradients that are tested with float16",
        "loops_not_scaled: A quotient is no loss scale",
    ),
    ("losses: Losses of a tape", "keras_scaling: The step of a model"),
    (
        "rules_scalers_forms: Checkpoints",
        "py_torch_amp: A context that a setting chooses is not always on",
    ),
    ("windows_of_libraries: Dead flags of absl", "rates_counted: Steps that count numbers"),
    (
        "schedule_never_steps: What optimizers are called",
        "py_paddle_schedules: The rate of a schedule is never the default",
    ),
    (
        "rules_idioms: Accelerate without accumulate",
        "emitted_scripts: Where the framework comes from is not seen",
    ),
]
"""Programs whose findings another one decided: by its flags, scalers, updates, types, saved
states, schedules and windows."""


@pytest.mark.parametrize("pair", [*DECIDED_BEFORE, *pairs_of(1, 48)], ids=" beside ".join)
def test_a_companion_that_is_a_program_of_its_own(pair: tuple[str, str]) -> None:
    """It decides nothing of a program that uses nothing of it."""
    assert differences(*pair) == set()


def test_both_programs_are_judged() -> None:
    """A whole program of which nothing is used has the findings that it has alone."""
    rules = {rule.code: rule for rule in RULES}
    wrong, beside = rules["CL206"].wrong, rules["CL604"].wrong
    apart = found(Source("train.py", wrong)) | found(Source("helpers.py", beside))
    both = found(Source("train.py", f"{wrong}\nimport helpers\n"), Source("helpers.py", beside))
    assert both == apart


@exhaustive("a thousand more pairs of programs")
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_companions_that_are_programs_of_their_own(seed: int) -> None:
    changed = {pair: found for pair in pairs_of(seed, 100) if (found := differences(*pair))}
    assert changed == {}


def test_a_program_that_is_used_counts() -> None:
    """A scaler in a file that the program uses may scale its loss."""
    rule = next(rule for rule in RULES if rule.code == "CL206")
    scaler = """\
import torch

scaler = torch.amp.GradScaler()


def finish(loss, optimizer):
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""
    for use, expected in (("", {"CL206"}), ("\nhelpers.finish(other, optimizer)\n", set())):
        wrong = Source("train.py", f"{rule.wrong}\nimport helpers\n{use}")
        codes = {code for code, _, _ in found(wrong, Source("helpers.py", scaler))}
        assert codes & {"CL206"} == expected
