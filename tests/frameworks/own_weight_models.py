"""One model with a layer of every kind in four frameworks, each written as usual there."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from program_files import files_in

SOURCES = {
    name.removesuffix(".py"): text
    for name, text in files_in(Path(__file__).with_suffix(".md")).items()
}
RECIPE = f"""
version: 1
name: own
model:
  kind: custom
  factory: {json.dumps({name: f"own_{name}:build_model" for name in SOURCES})}
data: {{source: npz, train: rows.npz, eval: rows.npz}}
batch: {{micro_batch_size: 4, global_batch_size: 4}}
optimizer: {{name: adamw, learning_rate: 0.001}}
schedule: {{total_steps: 4}}
"""


def write_rows(path: Path) -> None:
    rng = np.random.default_rng(1)
    np.savez(
        path,
        image=rng.standard_normal((4, 3, 8, 8), dtype=np.float32),
        ids=rng.integers(0, 20, (4, 7)),
        series=rng.standard_normal((4, 4, 5), dtype=np.float32),
        labels=np.arange(4) % 3,
    )


def write_models(folder: Path, **sources: str) -> Path:
    """Write models, rows and their recipe, and return the path of the recipe."""
    for framework, source in (SOURCES | sources).items():
        (folder / f"own_{framework}.py").write_text(source)
    write_rows(folder / "rows.npz")
    (folder / "recipe.yaml").write_text(RECIPE)
    return folder / "recipe.yaml"
