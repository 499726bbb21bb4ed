"""Proofs of migrations whose emitted code does not do what the recipe says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import migration_sources
from crosscast.emit.folders import compile_to_folders
from crosscast.messages.source import Source
from crosscast.recipe.document import Recipe
from crosscast.targets.backend import Form
from crosscast_migrate.across_frameworks import migrate_across
from crosscast_parity.compare.migration_proof import Proof, prove
from frameworks.subprocesses import require
from tiers import exhaustive

SAID = {"schedule.total_steps": 200, "batch.micro_batch_size": 4, "ema.decay": 0.9}
Change = tuple[str, str]

AVERAGES_MOVE_ON_A_SKIP: Change = (
    "    if not skipped:\n        update_averages(state)",
    "    if True:\n        update_averages(state)",
)
VECTORS_ARE_NOT_CLEARED_LATER: Change = (
    "    state.optimizer.zero_grad()\n    state.windows",
    "    for parameter in model.parameters():\n"
    "        if parameter.ndim > 1 or state.updates < 12:\n"
    "            parameter.grad = None\n"
    "    state.windows",
)
ONE_WEIGHT_IS_NOT_LOOKED_AT: Change = ("for g in gradients])", "for g in gradients[1:]])")


def sabotaged(change: Change, changed: set[str]) -> Callable[..., None]:
    """Return the compiler with a mistake in what it writes, scripts and steps.

    A script in float32 without a loss scale may not hold what is changed; `changed` gets the names
    of the files that did.
    """

    def compile_to(
        recipe: Recipe, targets: Sequence[str], directory: Path, *, form: Form = "script"
    ) -> None:
        compile_to_folders(recipe, targets, directory, form=form)
        name = "step.py" if form == "step" else "train.py"
        (path,) = directory.glob(f"*/{name}")
        text = path.read_text()
        if change[0] in text:
            changed.add(name)
            path.write_text(text.replace(*change))

    return compile_to


def proof_of(text: str, target: str, folder: Path, change: Change) -> Proof:
    require(target)
    source = Source("train.py", text)
    recipe = migrate_across([source], [target], settings=SAID).recipe
    changed: set[str] = set()
    compiler = sabotaged(change, changed)
    proof = prove(recipe, target, folder, compile_to=compiler, corrected={}, unknown=())
    assert changed == {"step.py", "train.py"}
    return proof


def outcomes(proof: Proof) -> list[str]:
    return [stage.outcome for stage in proof.stages]


@exhaustive("sabotaged migrations")
@pytest.mark.torch
def test_averages_that_move_on_a_skip_are_seen_by_both_stages(tmp_path: Path) -> None:
    proof = proof_of(migration_sources.TORCH, "torch", tmp_path, AVERAGES_MOVE_ON_A_SKIP)
    assert proof.outcome == "different"
    assert outcomes(proof) == ["different", "different"]
    assert "window 0: ema/kernel after a skip is moved" in proof.stages[0].wording
    found = {field.field: field.verdict for field in proof.fields}
    assert found["ema.decay"] == "different"


@exhaustive("more sabotaged migrations")
@pytest.mark.torch
def test_what_goes_wrong_later_is_seen_by_both_stages(tmp_path: Path) -> None:
    proof = proof_of(migration_sources.TORCH, "torch", tmp_path, VECTORS_ARE_NOT_CLEARED_LATER)
    assert proof.outcome == "different"
    assert outcomes(proof) == ["different", "different"]
    assert "L1b tensors of the toy (toy/active): window 1" in proof.wording


@exhaustive("more sabotaged migrations")
@pytest.mark.tensorflow
def test_a_weight_that_nothing_looks_at_only_the_toy_sees(tmp_path: Path) -> None:
    """An overflow that a loss makes is in all gradients; on the toy it is in one."""
    change = ONE_WEIGHT_IS_NOT_LOOKED_AT
    proof = proof_of(migration_sources.PADDLE, "tensorflow", tmp_path, change)
    assert proof.outcome == "different"
    assert outcomes(proof) == ["different", "same"]
    assert "L0b trace of the toy (toy/active): window 0: " in proof.wording


@exhaustive("more sabotaged migrations")
@pytest.mark.paddle
def test_paddle_averages_that_move_on_a_skip_are_seen_by_both_stages(tmp_path: Path) -> None:
    proof = proof_of(migration_sources.TORCH, "paddle", tmp_path, AVERAGES_MOVE_ON_A_SKIP)
    assert proof.outcome == "different"
    assert outcomes(proof) == ["different", "different"]
