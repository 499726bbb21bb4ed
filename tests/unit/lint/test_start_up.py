"""Looking at a Python file loads what reads Python: nothing of recipes, YAML or shell scripts.

Asked without the command line, because typer itself loads pydantic for the arguments of a command.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROBE = """
import json, sys
from crosscast_reading.lint.run import Request, run
assert run(Request(paths=sys.argv[1:])).looked_at
print(json.dumps(sorted(sys.modules)))
"""
HEAVY = ("pydantic", "pydantic_core", "ruamel.yaml", "numpy", "jinja2", "tree_sitter")
TRAINER = """
import torch

model = torch.nn.Linear(2, 2)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for batch in loader:
    with torch.autocast("cuda"):
        loss = model(batch).sum()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
"""
SETTINGS = """
optimizer = dict(type="AdamW", lr=1e-3, betas=(0.9, 0.95))
optim_wrapper = dict(type="AmpOptimWrapper", optimizer=optimizer)
param_scheduler = [dict(type="CosineAnnealingLR", T_max=10)]
"""


@pytest.mark.parametrize("text", [TRAINER, SETTINGS], ids=["trainer", "settings"])
def test_python_needs_neither_recipes_nor_yaml(text: str, tmp_path: Path) -> None:
    program = tmp_path / "some.py"
    program.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", PROBE, str(program)], capture_output=True, text=True
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    assert "crosscast_reading.readers.python.mmengine" in loaded
    assert "crosscast_reading.trainstep.steps.search" in loaded
    assert not loaded & set(HEAVY)
