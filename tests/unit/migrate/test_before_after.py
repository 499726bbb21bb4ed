"""Both sides of a migration in place: equal recipes and steps, or what differs."""

from __future__ import annotations

import pytest

import migration_sources
from crosscast.messages.source import Source
from crosscast_migrate.before_after import Comparison, compare_texts


def compared(before: str, after: str) -> dict[str, Comparison]:
    found = compare_texts([Source("train.py", before)], {"train.py": after})
    return {comparison.field: comparison for comparison in found}


def different(before: str, after: str) -> set[str]:
    return {
        name
        for name, judgement in compared(before, after).items()
        if judgement.verdict == "different"
    }


def test_a_text_is_the_same_as_itself() -> None:
    assert not different(migration_sources.TORCH, migration_sources.TORCH)


def test_another_spelling_is_the_same() -> None:
    old = migration_sources.TORCH.replace(
        'torch.amp.GradScaler("cuda", ', "torch.cuda.amp.GradScaler("
    ).replace('torch.autocast("cuda", ', "torch.cuda.amp.autocast(")
    assert not different(old, migration_sources.TORCH)


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("lr=3e-4", "lr=3e-3", "optimizer.learning_rate"),
        ("init_scale=1024.0", "init_scale=65536.0", "loss_scaling.init_scale"),
        ("model.parameters(), 0.5", "model.parameters(), 5.0", "clipping.max_norm"),
        ("float16", "bfloat16", "precision.compute_dtype"),
        ("            scaler.unscale_(optimizer)\n", "", "CL301"),
    ],
)
def test_what_differs_is_told(old: str, new: str, field: str) -> None:
    assert field in different(migration_sources.TORCH, migration_sources.TORCH.replace(old, new))


def test_a_step_that_is_gone_is_told() -> None:
    after = migration_sources.TORCH.replace("            scaler.step(optimizer)\n", "")
    assert "step step" in different(migration_sources.TORCH, after)


def test_a_mistake_that_is_gone_was_changed_on_purpose() -> None:
    old = migration_sources.TORCH.replace("            scaler.unscale_(optimizer)\n", "")
    found = compared(old, migration_sources.TORCH)["CL301"]
    assert found.verdict == "changed on purpose"
    assert "CL301" not in different(old, migration_sources.TORCH)


def test_files_that_do_not_change_are_not_looked_at() -> None:
    assert compare_texts([Source("train.py", migration_sources.TORCH)], {}) == []


def test_a_file_that_does_not_train_says_nothing() -> None:
    assert not compared(migration_sources.NOTHING, migration_sources.NOTHING + "x = 1\n")
