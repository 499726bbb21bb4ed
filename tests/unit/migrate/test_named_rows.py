"""Rows that the user names: what the source says of their order stays, and nothing is left open."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from crosscast.messages.source import Source
from crosscast_migrate.across_frameworks import CrossMigration, migrate_across
from crosscast_reading.lift.recipe_draft import Filled

PROGRAM = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

model = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = TensorDataset(torch.randn(64, 8), torch.randint(0, 3, (64,)))
loader = DataLoader(data, batch_size=16, shuffle={shuffle})
for x, y in loader:
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""
NAMED = {"data.train": "rows/train.npz", "data.eval": "rows/eval.npz"}


def migrated(settings: Mapping[str, object], shuffle: str = "False") -> CrossMigration:
    source = Source("train.py", PROGRAM.format(shuffle=shuffle))
    return migrate_across([source], ["paddle"], settings=settings)


def fields(settings: Mapping[str, object], shuffle: str = "False") -> dict[str, Filled]:
    return dict(migrated(settings, shuffle).fields)


@pytest.mark.parametrize("shuffle", [True, False])
def test_the_order_is_that_of_the_source(shuffle: bool) -> None:
    found = fields(NAMED, str(shuffle))["data.shuffle"]
    assert (found.value, found.how) == (shuffle, "read")


def test_the_order_that_the_user_says_counts() -> None:
    assert fields({**NAMED, "data.shuffle": True})["data.shuffle"].value is True


def test_the_name_of_the_file_says_what_it_is() -> None:
    found = fields(NAMED)
    assert [
        path for path, field in found.items() if field.how == "assumed" and "data" in path
    ] == []
    assert not any(d.code == "CC972" and d.path == "data" for d in migrated(NAMED).diagnostics)


def test_another_name_does_not() -> None:
    assert fields({"data.train": "rows/train.parquet"})["data.source"].how == "assumed"


def test_rows_of_an_own_model_are_not_made_by_crosscast_data() -> None:
    (missing,) = (d for d in migrated({}).diagnostics if d.code == "CC972" and d.path == "data")
    assert "numpy.savez" in missing.message
    assert "`crosscast data`" not in missing.message
