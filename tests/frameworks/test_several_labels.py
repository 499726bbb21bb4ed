"""A loss over pixels, some of which count for nothing, is the same after a migration."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from crosscast.messages.output import write_files
from crosscast.messages.source import Source
from crosscast_migrate.across_frameworks import migrate_across
from frameworks.subprocesses import TESTS, run_python
from tiers import exhaustive

PROGRAM = TESTS / "frameworks" / "run_several_labels.py"
SOURCE = """\
import numpy as np
import torch
from torch import nn


class Pixels(torch.utils.data.Dataset):
    def __init__(self):
        random = np.random.default_rng(0)
        self.images = random.normal(size=(8, 3, 6, 6)).astype(np.float32)
        self.labels = random.integers(0, 5, (8, 6, 6))
        self.labels[:, 0] = 255
        self.labels[:2, 1] = 255

    def __len__(self):
        return 8

    def __getitem__(self, i):
        return self.images[i], self.labels[i].astype(np.int64)


model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 5, 1))
loader = torch.utils.data.DataLoader(Pixels(), batch_size=4, shuffle=False, drop_last=True)
criterion = nn.CrossEntropyLoss(ignore_index=255)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for x, labels in loader:
    loss = criterion(model(x), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@exhaustive("two updates of a migrated program beside those of its source")
@pytest.mark.parametrize("target", ["paddle", "tensorflow"])
def test_two_updates_are_those_of_the_source(target: str, tmp_path: Path) -> None:
    settings = {"schedule.total_steps": 2}
    across = migrate_across([Source("source.py", SOURCE)], [target], settings=settings)
    assert across.fill_in == ()
    write_files(tmp_path / "new", across.files, force=False)
    source = tmp_path / "source"
    source.mkdir()
    (source / "source.py").write_text(SOURCE)
    wanted = run_python(PROGRAM, "torch", "torch", source)
    shutil.copy(source / "weights.npz", tmp_path / "new" / target)
    found = run_python(PROGRAM, target, target, tmp_path / "new" / target)
    assert wanted[0] != wanted[1]
    assert found == pytest.approx(wanted, rel=1e-5)
