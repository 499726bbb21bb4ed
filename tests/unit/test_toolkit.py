"""Packages of frameworks build on a toolkit; what else of reading they use may only become less."""

from __future__ import annotations

from itertools import chain

import pytest

from source_trees import ROOT
from toolkit_table import TOOLKIT, imported_names

MODULES = set(chain.from_iterable(TOOLKIT.values()))
PLUGIN = ROOT / "tests/plugin/crosscast_toy"
BESIDE = {
    "crosscast_jax": 3,
    "crosscast_paddle": 11,
    "crosscast_tensorflow": 14,
    "crosscast_torch": 3,
    "crosscast_trainers": 5,
}
"""How many modules of reading each package uses that are not in the toolkit."""


def test_packages_of_frameworks_use_little_beside_the_toolkit() -> None:
    folders = [path for path in (ROOT / "backends").iterdir() if path.is_dir()]
    beside = {path.name: len(imported_names(path).keys() - MODULES) for path in folders}
    assert beside == BESIDE


def test_a_plug_in_needs_nothing_else() -> None:
    assert imported_names(PLUGIN).keys() <= MODULES


@pytest.mark.parametrize("module", sorted(MODULES))
def test_the_toolkit_has_what_several_frameworks_use(module: str) -> None:
    users = [
        path
        for path in (*(ROOT / "backends").iterdir(), PLUGIN)
        if path.is_dir() and module in imported_names(path)
    ]
    assert len(users) > 1
