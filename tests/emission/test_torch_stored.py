"""What PyTorch scripts look like for recipes that say what operations store."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest

from crosscast.emit.compiler import compile_recipe
from frameworks.emitted_script import BFLOAT16, FLOAT16, TINY, tiny_recipe
from tiers import cases

CLASSES = ("matmul", "pointwise", "reductions", "embeddings", "losses", "residual")
STORED = ("half", "float32", "float32_stored_half")
VALUES = (*itertools.repeat(STORED, 5), ("half", "float32"))


@pytest.mark.parametrize("stride", cases([1, 29], quick=[29], reason="every combination of types"))
def test_models_are_what_ruff_would_write(tmp_path: Path, stride: int) -> None:
    kinds = list(itertools.product(*VALUES))[::stride]
    for number, (chosen, attention) in enumerate(itertools.product(kinds, ("fused", "explicit"))):
        recipe = tiny_recipe(
            version=2,
            model=TINY["model"] | {"dropout": 0.1 * (number // 2 % 2), "attention": attention},
            precision=(FLOAT16, BFLOAT16)[number % 3 // 2]
            | {"ops": dict(zip(CLASSES, chosen, strict=True))},
        )
        (found,) = compile_recipe(recipe, ["torch"])
        (tmp_path / f"model_{number}.py").write_text(found.files["model.py"].text)
    for command in (["check"], ["format", "--diff"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--isolated", "--no-cache", str(tmp_path)]
        done = subprocess.run(ruff, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[:3000]
