"""`crosscast compile` loads only what it uses; everything else would slow down every start."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from recipe_texts import text_of

PROBE = """
import json, sys
from crosscast.cli import run
try:
    run()
finally:
    with open("modules.json", "w") as file:
        json.dump(sorted(sys.modules), file)
"""
UNUSED = (
    # other commands
    "crosscast.cli.data",
    "crosscast.cli.explore",
    "crosscast.cli.lint",
    "crosscast.cli.migrate",
    "crosscast.cli.parity",
    "crosscast.cli.plan",
    "crosscast.cli.state",
    "crosscast.carriers",
    "crosscast.explore",
    "crosscast.fit",
    "crosscast.state",
    "crosscast.variations",
    "crosscast_parity",
    # reading and migrating programs
    "crosscast_reading",
    "crosscast_migrate",
    "tree_sitter",
    # parts of backends
    "crosscast.memory",
    "crosscast.messages.codes",
    "crosscast.targets.defaults",
    "crosscast.targets.framework",
    "crosscast.targets.harness",
    "crosscast_paddle.target.classic",
    "crosscast_paddle.target.memory",
    "crosscast_tensorflow.target.memory",
    "crosscast_torch.target.memory",
    "crosscast_trainers",
    # running and measuring
    "crosscast.data",
    "crosscast.reference",
    "numpy",
    # for help and messages only
    "pygments",
    "rich.console",
)
"""Modules and packages that no compilation of a valid recipe may load."""


@pytest.mark.parametrize("module", UNUSED)
def test_list_names_modules(module: str) -> None:
    from importlib.util import find_spec

    assert find_spec(module) is not None


def test_compiling_loads_only_what_it_uses(tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text(text_of(), encoding="utf-8")
    command = ["compile", "r.yaml", "--to", "torch,tensorflow,paddle", "-o", "out"]
    subprocess.run([sys.executable, "-c", PROBE, *command], cwd=tmp_path, check=True)
    loaded = json.loads((tmp_path / "modules.json").read_text())
    assert (tmp_path / "out" / "torch" / "train.py").exists()
    unused = tuple(f"{module}." for module in UNUSED)
    assert [module for module in loaded if f"{module}.".startswith(unused)] == []
