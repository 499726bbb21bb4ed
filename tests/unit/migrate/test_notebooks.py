"""Notebooks in place: their cells are changed, their outputs are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from crosscast.cli import app
from migration_sources import with_experimental

LOOP = """\
for inputs, labels in torch.load("batches.pt"):
    loss = torch.nn.functional.cross_entropy(model(inputs), labels)
    with amp.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()
    optimizer.step()
    optimizer.zero_grad()"""
CELLS = (
    "%matplotlib inline\nimport torch\nfrom apex import amp",
    "model = torch.nn.Linear(128, 4).cuda()\n"
    "optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)\n"
    'model, optimizer = amp.initialize(model, optimizer, opt_level="O1")',
    LOOP,
)


def notebook(*cells: str) -> str:
    def cell(text: str) -> dict[str, Any]:
        output = {"output_type": "stream", "text": ["from apex import amp\n"]}
        source = text.splitlines(keepends=True)
        return {"cell_type": "code", "outputs": [output], "metadata": {}, "source": source}

    return json.dumps({"cells": list(map(cell, cells)), "metadata": {"a": [1, 2]}}, indent=1)


def migrate(*words: object) -> Any:
    return CliRunner().invoke(app, with_experimental(("migrate", *words)))


def test_an_apex_notebook_is_changed_in_its_cells(tmp_path: Path) -> None:
    path = tmp_path / "train.ipynb"
    path.write_text(notebook(*CELLS))
    assert migrate(path, "--to", "torch.amp", "--write", "--no-run").exit_code == 0
    new = path.read_text()
    cells = ["".join(cell["source"]) for cell in json.loads(new)["cells"]]
    assert cells[0] == "%matplotlib inline\nimport torch"
    assert cells[1].endswith('scaler = torch.amp.GradScaler("cuda")')
    assert "    scaler.step(optimizer)\n    scaler.update()\n" in cells[2]
    assert new == notebook(*cells)
    assert migrate(path, "--to", "torch.amp", "--write", "--no-run").exit_code == 0
    assert path.read_text() == new


def test_a_shell_line_moves_with_the_loop(tmp_path: Path) -> None:
    path = tmp_path / "train.ipynb"
    forward = "    logits = model(inputs)\n    !nvidia-smi\n    loss ="
    loop = LOOP.replace("    loss =", forward).replace("model(inputs), l", "logits, l")
    path.write_text(notebook(*CELLS[:2], loop))
    assert migrate(path, "--to", "torch.amp", "--write", "--no-run").exit_code == 0
    loop = "".join(json.loads(path.read_text())["cells"][2]["source"])
    assert "        logits = model(inputs)\n        !nvidia-smi\n        loss =" in loop


def test_what_goes_beyond_a_cell_is_left(tmp_path: Path) -> None:
    path = tmp_path / "train.ipynb"
    loop = LOOP.replace("        scaled_loss.b", "        !nvidia-smi\n        scaled_loss.b")
    text = notebook(*CELLS[:2], loop)
    path.write_text(text)
    found = migrate(path, "--to", "torch.amp", "--write")
    assert found.exit_code == 1
    assert path.read_text() == text
