"""Bugs of storage in the examples' models: one program alone shows them, and no right one is named.

The recipe is the oracle; nothing else is compared. The bugs are in `mutants/own_*.diff`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from crosscast_parity.checks.check import Check
from frameworks.subprocesses import require, warm
from mutants.own_storage import (
    DTYPES,
    FRAMEWORKS,
    OwnModel,
    checks_of,
    plants_of,
    rewrites_of,
    typed,
    unseen_of,
    wrong_of,
)
from tiers import exhaustive

QUICK = ("one sum in half", "gpt: as it is", "RMS normalization by hand")
"""Models of PyTorch that `make test` trains."""


def trained(
    framework: str, dtype: str, models: list[OwnModel], folder: Path
) -> Mapping[str, list[Check]]:
    require(framework)
    return checks_of(framework, dtype, models, folder, warm(framework))


def every(framework: str) -> list[OwnModel]:
    return [*plants_of(framework), *unseen_of(framework), *rewrites_of(framework)]


def check(framework: str, dtype: str, models: list[OwnModel], folder: Path) -> None:
    seen = trained(framework, dtype, models, folder)
    for model in models:
        words = wrong_of(seen[model.name])
        assert bool(words) == bool(model.says), (model.name, words)
        assert typed(model.says, dtype) in words, (model.name, words)


@pytest.mark.torch
def test_a_stream_in_half_is_seen_and_right_models_are_not_named(tmp_path: Path) -> None:
    models = [model for model in every("torch") if model.name in QUICK]
    assert len(models) == len(QUICK)
    check("torch", "float16", models, tmp_path)


@exhaustive("every planted bug of storage in own models; `make test` trains three of PyTorch's")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "framework", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in FRAMEWORKS]
)
def test_every_bug_of_storage_is_seen_and_no_right_model_is_named(
    framework: str, dtype: str, tmp_path: Path
) -> None:
    check(framework, dtype, every(framework), tmp_path)
