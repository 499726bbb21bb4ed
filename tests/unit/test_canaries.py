"""Canaries: every one fits what the compiler emits, and every level has one."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from crosscast.cli import app
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.load import load
from crosscast_parity.checks.kinds import LEVELS
from crosscast_parity.levels.seeds import judge_seeds
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.options import make_options
from crosscast_parity.planning.runs import recipe_variants
from crosscast_parity.planning.stages import custom_stages
from crosscast_parity.self_test.canaries import canaries_of, fitting
from crosscast_parity.self_test.experiments import (
    Detection,
    in_words,
    missed,
    seeds_finding,
    self_test,
)
from frameworks.example_problems import problem
from mutants.emitted import texts_for, undefined_names, variants
from mutants.trials import RECIPE

FRAMEWORKS = pytest.mark.parametrize("framework", ["torch", "tensorflow", "paddle", "jax"])
FOUND = Detection(
    program="torch",
    canary="late-growth",
    title="the scale grows late",
    level="L0b",
    seen=("L0b", "L0a"),
    verdict="DIFFERENT",
)


@FRAMEWORKS
def test_every_canary_fits_and_leaves_a_program(framework: str) -> None:
    scripts = variants(framework)
    canaries = canaries_of(framework)
    assert fitting(canaries, scripts.values()) == canaries
    for canary in canaries:
        for texts in scripts.values():
            for name, text in canary.bug.mutate(texts).items():
                assert text != texts[name]
                ast.parse(text)


@FRAMEWORKS
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("example", ["gpt", "lstm-forecast", "resnet-cifar"])
def test_no_canary_fits_a_custom_model_in_part(
    framework: str, example: str, dtype: str, tmp_path: Path
) -> None:
    recipe = load(str(problem(example, tmp_path, dtype) / "recipe.yaml"))
    levels = set()
    for stage in custom_stages(recipe, 1000, "quick", None, 1):
        for variant in recipe_variants(stage.derive(recipe), stage).values():
            texts = texts_for(variant, framework)
            canaries = canaries_of(framework, custom=True)
            levels |= {canary.level for canary in canaries if canary.bug.mutate(texts)}
    least = {"gate", "L0a", "L0c", "L1a", "L1b", "L1d", "L2"}
    half = {"L0d", "L1c"} if dtype != "float32" else set()
    assert levels >= least | half | ({"L0b"} if dtype == "float16" else set())


@FRAMEWORKS
def test_canaries_use_names_that_are_defined(framework: str, tmp_path: Path) -> None:
    bugs = [canary.bug for canary in canaries_of(framework)]
    assert undefined_names(framework, bugs, tmp_path) == ""


@FRAMEWORKS
def test_every_level_has_a_canary(framework: str) -> None:
    canaries = canaries_of(framework)
    assert len(canaries) >= 12
    assert len({canary.name for canary in canaries}) == len(canaries)
    levels = {canary.level for canary in canaries} | {seeds_finding().level}
    assert levels == set(LEVELS) - {"result"}


@FRAMEWORKS
def test_canaries_that_a_recipe_has_no_place_for_are_left_out(framework: str) -> None:
    float32 = variants(framework)["float32"]
    left = fitting(canaries_of(framework), [float32])
    assert {canary.level for canary in left} == {"gate", "L0a", "L0c", "L1a", "L1b", "L1d", "L2"}


def test_other_frameworks_have_none() -> None:
    assert canaries_of("none") == ()


def test_seeds_that_are_all_worse_are_seen() -> None:
    assert seeds_finding().caught


def test_seeds_are_not_seen_by_a_judge_who_always_complains(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The unchanged results must pass, or the level sees everything."""
    wrong = replace(judge_seeds((), ())[0], result="fail")
    monkeypatch.setattr("crosscast_parity.self_test.experiments.judge_seeds", lambda *_: (wrong,))
    assert not seeds_finding().caught


def test_words_say_what_was_not_seen() -> None:
    blind = replace(FOUND, canary="x", level="L2", verdict="EQUIVALENT", seen=())
    lines = list(in_words([FOUND, blind]))
    assert lines[0].endswith("L0b   seen; also L0a")
    assert lines[1].endswith("NOT SEEN (EQUIVALENT)")
    assert lines[-1] == "self-test: 1 of 2 planted bugs were detected by their level"


OWN = Contestant(name="mine", target="torch", recipe=load(str(RECIPE)), script=RECIPE)


def test_a_blind_level_is_an_error() -> None:
    assert missed([FOUND]) == []
    (problem,) = missed([FOUND, replace(FOUND, seen=("L0a",))])
    assert problem.code == "CC735"
    assert "L0b (torch: late-growth)" in problem.message


def test_the_command_fails_if_a_level_is_blind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def run(*findings: Detection) -> Result:
        monkeypatch.setattr(
            "crosscast_parity.self_test.experiments.self_test", lambda *_, **__: iter(findings)
        )
        flags = ["--to", "torch", "--self-test", "-o", str(tmp_path)]
        return CliRunner().invoke(app, ["parity", str(RECIPE), *flags])

    assert run(FOUND).exit_code == 0
    blind = run(replace(FOUND, seen=("L0a",)))
    assert blind.exit_code == 1
    assert "NOT SEEN" in blind.stdout
    assert "error CC735: a planted bug was not detected by L0b" in blind.stderr
    assert f"html: {tmp_path / 'report.html'}" in blind.stdout


def test_a_self_test_needs_an_emitted_program(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError, match="CC707"):
        list(self_test([OWN], options=make_options(tmp_path), compile_to=lambda *_: None))
