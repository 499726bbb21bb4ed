"""The class of the rows of a source: copied where it is free of its framework, and wrapped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast.messages.source import Source
from crosscast_migrate.across_frameworks import CrossMigration, migrate_across
from crosscast_migrate.own_rows import FILE

PROGRAM = """
import os
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

SCALE = 2.0


def load(path):
    return np.load(os.path.join(path, "x.npy")), np.load(os.path.join(path, "y.npy"))


class Points(Dataset):
    def __init__(self, path, scale=1.0):
        super().__init__()
        self.x, self.y = load(path)
        self.scale = scale * SCALE

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        x = torch.tensor(self.x[index], dtype=torch.float32)
        return x * self.scale, torch.tensor(self.y[index], dtype=torch.long)


model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
loader = DataLoader(Points("train", scale=0.5), batch_size=4, shuffle=True, drop_last=True)
other = DataLoader(Points("test"), batch_size=64)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(10):
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
"""


def moved(text: str) -> CrossMigration:
    settings = {"schedule.total_steps": 10}
    return migrate_across([Source("train.py", text)], ["paddle"], settings=settings)


def test_the_rows_of_a_program_are_those_of_its_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, count in (("train", 6), ("test", 3)):
        (tmp_path / name).mkdir()
        np.save(f"{name}/x.npy", np.arange(8.0 * count).reshape(count, 8))
        np.save(f"{name}/y.npy", np.arange(count) % 3)
    across = moved(PROGRAM)
    assert across.fill_in == ()
    assert across.fields["data.shuffle"].value is True
    text = across.files[f"paddle/{FILE}"].text
    assert "torch" not in text
    names: dict[str, Any] = {}
    exec(compile(text, FILE, "exec"), names)  # our own text
    rows = names["train_rows"]()
    assert len(rows) == 6
    found = rows.rows(np.array([4, 1]))
    assert list(found) == ["x", "labels"]
    assert found["x"].dtype == np.float32
    np.testing.assert_array_equal(found["x"][1], np.arange(8.0, 16.0))
    np.testing.assert_array_equal(found["labels"], [1, 1])
    assert len(names["eval_rows"]()) == 3


REFUSED = {
    ("torch.tensor(self.x[index], dtype=torch.float32)", "torch.fft.fft(self.x[index])"): (
        "the rows need torch.fft.fft"
    ),
    ('Points("train", scale=0.5)', "Points(where(), scale=0.5)"): "is not known: where()",
    ("batch_size=4,", "batch_size=4, collate_fn=joined,"): "makes its batches",
    ("return x * self.scale, torch", "return x, self.y, torch"): "does not return x, labels",
    ("return len(self.x)", "return len(more)"): "the rows need more",
    ("for i, (x, y) in", "for i, (y, x) in"): "the labels are not the last of y, x",
    ("class Points(Dataset)", "class Points(Other)"): "the class of the rows is not seen",
}


@pytest.mark.parametrize(("change", "reason"), REFUSED.items())
def test_rows_that_need_something_else_stay_with_their_user(
    change: tuple[str, str], reason: str
) -> None:
    text = PROGRAM.replace(*change)
    if "Other" in change[1]:
        text = text.replace("def __getitem__", "def item")
    across = moved(text)
    assert f"paddle/{FILE}" not in across.files
    (message,) = [d.message for d in across.diagnostics if d.path == "data"]
    assert reason in message


def test_rows_that_are_evaluated_and_drawn_at_random_are_told_of() -> None:
    text = PROGRAM.replace('other = DataLoader(Points("test"), batch_size=64)\n', "")
    text = text.replace("return x * self.scale,", "return x * np.random.rand(),")
    across = moved(text)
    assert across.rows is not None
    assert [note.partition(":")[0] for note in across.rows.notes] == [
        "no other loader is seen",
        "rows are drawn at random",
    ]


def test_rows_by_name_keep_their_names() -> None:
    pair = "return x * self.scale, torch.tensor(self.y[index], dtype=torch.long)"
    named = PROGRAM.replace(pair, 'return {"x": x, "labels": self.y[index]}')
    assert "for name in NAMES}" in moved(named).files[f"paddle/{FILE}"].text
    other = PROGRAM.replace(pair, 'return {"x": x, "y": self.y[index]}')
    assert f"paddle/{FILE}" not in moved(other).files


def test_a_class_of_the_program_may_have_the_name_of_the_adapter() -> None:
    text = moved(PROGRAM.replace("Points", "Rows")).files[f"paddle/{FILE}"].text
    assert "return NumberedRows(Rows(" in text
    assert "class NumberedRows:" in text


def test_what_the_loop_computes_of_its_batches_is_told() -> None:
    zero = "        optimizer.zero_grad()\n"
    across = moved(PROGRAM.replace(zero, f"        x = (x - 0.5) / 0.25\n{zero}", 1))
    assert across.rows is not None
    assert "x = (x - 0.5) / 0.25" in across.rows.undone[-1]
    assert [d.message for d in across.diagnostics if d.code == "CC935"] == list(across.rows.undone)


def test_what_the_user_says_of_data_and_loss_counts() -> None:
    settings = {"schedule.total_steps": 10, "data.train": "a.npz", "data.eval": "b.npz"}
    across = migrate_across([Source("train.py", PROGRAM)], ["paddle"], settings=settings)
    assert across.recipe.data.source == "npz"
    text = PROGRAM.replace("CrossEntropyLoss", "L1Loss")
    settings = {"schedule.total_steps": 10, "loss.kind": "mse"}
    across = migrate_across([Source("train.py", text)], ["paddle"], settings=settings)
    assert across.recipe.loss.kind == "mse"
    assert "paddle/own_loss.py" not in across.files
