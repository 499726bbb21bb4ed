"""Copies of the example problems, small."""

from __future__ import annotations

import shutil
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def problem(example: str, folder: Path, dtype: str = "float32") -> Path:
    """Copy an example with its tiny models and a recipe of this type; return its folder."""
    own = folder / example
    shutil.copytree(EXAMPLES / example, own, ignore=shutil.ignore_patterns("after", "out"))
    recipe = own / "recipe.yaml"
    text = recipe.read_text().replace("build_model", "build_tiny")
    lines = [line for line in text.splitlines() if not line.startswith(("precision:", "loss_scal"))]
    if dtype != "float32":
        lines.append(f"precision: {{mode: mixed, compute_dtype: {dtype}}}")
    if dtype == "float16":
        lines.append("loss_scaling: {mode: dynamic, init_scale: 4096, growth_interval: 8}")
    recipe.write_text("\n".join([*lines, ""]))
    return own
