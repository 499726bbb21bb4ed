"""JAX against PyTorch: the shipped BERT and an own model are the same training, with dropout."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from crosscast.cli import app
from frameworks.subprocesses import require
from tiers import exhaustive

pytestmark = [pytest.mark.torch, pytest.mark.jax]

EXAMPLES = Path(__file__).parents[2] / "examples"
BERT = """\
version: 2
name: tiny
seed: 1234
model: {kind: bert, vocab_size: 64, hidden_size: 32, layers: 2, attention_heads: 2,
  intermediate_size: 64, max_positions: 16, labels: 3, dropout: 0.1}
data: {source: synthetic, sequence_length: 12, train_rows: 256, eval_rows: 64}
batch: {micro_batch_size: 4}
precision: PRECISION
loss_scaling: {mode: SCALING}
accumulation: {steps: 2, normalize_by: sample}
clipping: {kind: global_norm, max_norm: 1.0}
optimizer: {name: adamw, learning_rate: 1e-3, weight_decay: 0.01, no_decay: [bias, layer_norm]}
schedule: {name: linear, warmup_ratio: 0.1, total_steps: 24, end_lr: 0.0}
"""
TYPES = {
    "float32": ("{mode: none, compute_dtype: float32}", "none"),
    "float16": ("{mode: mixed, compute_dtype: float16}", "dynamic"),
    "bfloat16": ("{mode: mixed, compute_dtype: bfloat16}", "none"),
}


def verdict(folder: Path, *options: str) -> str:
    """Compare JAX with PyTorch; return what is printed."""
    for target in ("torch", "jax"):
        require(target)
    out = folder / "out"
    command = ["parity", str(folder / "recipe.yaml"), "--to", "torch,jax", "-o", str(out)]
    return CliRunner().invoke(app, [*command, "--check", "model", *options]).output


@exhaustive("comparisons of whole trainings; `make test` has test_observed_jax")
@pytest.mark.parametrize("name", TYPES)
def test_the_shipped_bert_is_equivalent(name: str, tmp_path: Path) -> None:
    precision, scaling = TYPES[name]
    text = BERT.replace("PRECISION", precision).replace("SCALING", scaling)
    (tmp_path / "recipe.yaml").write_text(text)
    output = verdict(tmp_path, "--windows", "24")
    assert "jax against torch: EQUIVALENT" in output, output


@exhaustive("comparisons of whole trainings; `make test` has test_observed_jax and test_jax_types")
@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("example", ["gpt", "lstm-forecast", "resnet-cifar"])
def test_an_own_model_is_equivalent(
    example: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (EXAMPLES / example).glob("*.py"):
        shutil.copy(module, tmp_path)
    text = (EXAMPLES / example / "recipe.yaml").read_text().replace('build_model"', 'build_tiny"')
    lines = [line for line in text.splitlines() if not line.startswith(("precision", "loss_sc"))]
    precision, scaling = TYPES[name]
    lines += [f"precision: {precision}", f"loss_scaling: {{mode: {scaling}}}"]
    (tmp_path / "recipe.yaml").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    output = verdict(tmp_path, "--windows", "24")
    assert "jax against torch: EQUIVALENT" in output, output
