"""Versions that a list of requirements pins decide what is outdated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crosscast.messages.source import Source
from crosscast_reading.sources.requirements import is_requirements, pinned
from reading_helpers.lint_runs import run

PROGRAM = """\
import torch
scaler = torch.cuda.amp.GradScaler()
for batch in loader:
    optimizer.zero_grad()
    with torch.cuda.amp.autocast():
        loss = model(batch)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""


@pytest.mark.parametrize(
    ("text", "versions"),
    [
        ("torch==1.13.1\n", {"torch": "1.13.1"}),
        ("torch == 2.3.0+cu121 ; python_version > '3.8'\n", {"torch": "2.3.0+cu121"}),
        ("Torch[extra]==1.8\nnumpy\n", {"torch": "1.8"}),
        ("tensorflow_gpu==2.4.1", {"tensorflow": "2.4.1"}),
        ("torch>=1.13\ntransformers<5\n", {}),
        ("# torch==1.0\n-r other.txt\n", {}),
        ("torch==1.0\ntorch==2.0\n", {"torch": "1.0"}),
    ],
)
def test_pins(text: str, versions: dict[str, str]) -> None:
    assert pinned([Source("requirements.txt", text)]) == versions


def test_names() -> None:
    assert is_requirements("a/requirements.txt")
    assert is_requirements("requirements-dev.txt")
    assert not is_requirements("notes.txt")
    assert not is_requirements("requirements.py")


def test_the_nearest_list_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("old", "new", "none/deep"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "train.py").write_text(PROGRAM)
    (tmp_path / "requirements.txt").write_text("torch==2.4\n")
    (tmp_path / "old" / "requirements.txt").write_text("torch==1.13.1\n")
    found = json.loads(run(".", "--select", "CL901", "--format", "json").stdout)["findings"]
    assert {entry["span"]["file"] for entry in found} == {"new/train.py", "none/deep/train.py"}
