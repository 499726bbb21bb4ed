"""Predicted against measured peak memory of emitted PyTorch scripts, on a CPU."""

from __future__ import annotations

import json
import os
import statistics
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from crosscast.cli import app
from crosscast.memory.estimate import estimate
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.document import Recipe
from crosscast.targets.backend import find_target
from crosscast_parity.memory.processes import measure, trace_model
from crosscast_parity.memory.rows import sample_rows
from frameworks.subprocesses import python_options, warm
from page_sessions import blocks, session
from recipe_texts import FLOAT16, recipe_of, text_of
from tiers import cases, exhaustive

pytestmark = pytest.mark.torch

BFLOAT16 = "{mode: mixed, compute_dtype: bfloat16}"
FLOAT32 = "{mode: none, compute_dtype: float32}"
FULL = "{mode: full, compute_dtype: bfloat16}"
OPS = "{mode: mixed, compute_dtype: bfloat16, ops: {pointwise: compute, losses: compute}}"
MOMENTUM = "{name: sgd, learning_rate: 1e-3, momentum: 0.9, rate_in_momentum: true}"
NESTEROV = MOMENTUM.replace("}", ", nesterov: true}")
MEDIAN, WORST, TRACED = 0.05, 0.15, 0.001
NET = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(500, 64)
        layer = nn.TransformerEncoderLayer(64, 4, 256, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(64, 3)
        self.frozen = nn.Linear(10, 10).requires_grad_(False)

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.head(self.encoder(self.embed(input_ids)).mean(1))


build_model = Net
"""


def recipe(
    preset: str,
    rows: int,
    length: int,
    precision: str = FLOAT32,
    *,
    again: bool = False,
    **more: str,
) -> Recipe:
    return recipe_of(
        **{
            "model": f"{{kind: bert, preset: {preset}, vocab_size: 3000, labels: 3, dropout: 0.1}}",
            "data": f"{{source: synthetic, sequence_length: {length}}}",
            "batch": f"{{micro_batch_size: {rows}}}",
            "precision": precision,
            "clipping": "{kind: global_norm, max_norm: 1.0}",
            "activation_checkpointing": str(again).lower(),
        }
        | more
    )


def error(of: Recipe) -> float:
    """Return predicted over measured peak, minus one."""
    predicted = estimate(of, find_target("torch"), device="cpu").peak_bytes
    return predicted / measure(of, "torch", warm("torch")).peak_bytes - 1


@exhaustive("the grid of sizes and types; `make test` measures two")
def test_peaks_of_bert_are_predicted() -> None:
    grid = [
        recipe("tiny", 32, 64),
        recipe("tiny", 32, 64, BFLOAT16),
        recipe("tiny", 16, 128, FLOAT16, again=True),
        recipe("mini", 8, 64, again=True),
        recipe("mini", 8, 64, BFLOAT16),
        recipe("small", 4, 32),
    ]
    errors = [abs(error(recipe)) for recipe in grid]
    assert statistics.median(errors) <= MEDIAN, errors
    assert max(errors) <= WORST, errors


OTHERS = [
    recipe("tiny", 32, 64, FULL),
    recipe("tiny", 16, 64, OPS, again=True),
    recipe("tiny", 2, 32, optimizer="{name: lamb, learning_rate: 1e-3}"),
    recipe("tiny", 2, 32, optimizer=MOMENTUM),
    recipe("tiny", 2, 32, optimizer=NESTEROV),
    recipe("tiny", 2, 32, optimizer="{name: adafactor, learning_rate: 1e-3}"),
    recipe("tiny", 1, 128, accumulation="{steps: 1}", ema="{decay: 0.9}"),
    recipe("tiny", 2, 32, overrides="{torch: {fused_optimizer: false}}"),
]


@pytest.mark.parametrize(
    "of",
    cases(OTHERS, quick=[OTHERS[0]], reason="peaks of more recipes"),
    ids=["full", "ops", "lamb", "momentum", "nesterov", "adafactor", "one-row", "unfused"],
)
def test_peaks_of_other_recipes_are_predicted(of: Recipe) -> None:
    assert abs(error(of)) <= MEDIAN


OWN = {
    "model": "{kind: custom, factory: {torch: 'net:build_model'}}",
    "data": "{source: npz, train: train.npz, eval: eval.npz, sequence_length: 32}",
    "batch": "{micro_batch_size: 16}",
    "optimizer": "{name: adamw, learning_rate: 1e-3, no_decay: []}",
}


def write_net(folder: Path, net: str) -> None:
    (folder / "net.py").write_text(net)
    ids = np.ones((4, 32), np.int32)
    np.savez(
        folder / "train.npz",
        input_ids=ids,
        attention_mask=ids,
        token_type_ids=ids,
        labels=ids[:, 0],
    )


def own(rows: int, **more: str) -> Recipe:
    return recipe_of(**OWN | {"batch": f"{{micro_batch_size: {rows}}}"} | more)


@exhaustive("the peak of a traced model, measured")
def test_a_model_of_ones_own_is_traced(tmp_path: Path) -> None:
    write_net(tmp_path, NET)
    parallel = "{strategy: data_parallel, processes_per_node: 2}"
    traced = trace_model(own(16, distributed=parallel), warm("torch"), folder=tmp_path)
    assert sum(weight.count for weight in traced.weights) == 500 * 64 + 2 * 49_984 + 3 * 65
    assert traced.frozen_bytes == 4 * 110
    assert traced.sequence_length == 32
    torch, given = find_target("torch"), sample_rows(own(16), tmp_path)
    errors = {}
    for rows in (1, 6, 16, 64):  # the traces have 2, 4 and 8 rows
        found = estimate(own(rows), torch, device="cpu", traced=traced).peak_bytes
        run = measure(own(rows), "torch", warm("torch"), folder=tmp_path, rows=given)
        errors[rows] = found / run.peak_bytes - 1
    assert max(map(abs, errors.values())) <= TRACED, errors


def test_the_command_traces_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_net(
        tmp_path,
        NET.replace(
            "build_model = Net",
            """
def build_model():
    print("built")
    return Net()
""",
        ),
    )
    batch = "{micro_batch_size: 64, global_batch_size: 64}"
    text = OWN | {"batch": batch, "accumulation": "{steps: 1}"}
    (tmp_path / "recipe.yaml").write_text(text_of(**text))
    monkeypatch.chdir(tmp_path)
    words = ["plan", "recipe.yaml", "--to", "torch", "--memory", "40MiB", "--trace", "--json"]
    words += python_options("torch")
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 0, found.output
    (target,) = json.loads(found.stdout)["targets"]
    assert not target["now"]["fits"]
    assert [entry["micro_batch_size"] for entry in target["answers"]] == [32, 16, 8, 4, 2]


@exhaustive("the documented session, as printed")
def test_the_page_shows_a_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "planning.md"
    lines = page.read_text(encoding="utf-8").splitlines()
    found = blocks(lines)
    at = next(n for n, record in enumerate(found) if record[2] == "text")
    net, recipe, _, (first, last, _, _) = found[at - 3 : at + 1]
    write_net(tmp_path, "\n".join([*lines[slice(*net[:2])], ""]))
    (tmp_path / "recipe.yaml").write_text("\n".join([*lines[slice(*recipe[:2])], ""]))
    monkeypatch.chdir(tmp_path)
    now = session(lines[first:last])
    if "CROSSCAST_WRITE_GOLDENS" in os.environ:
        page.write_text("\n".join([*lines[:first], *now, *lines[last:], ""]), encoding="utf-8")
    else:
        assert now == lines[first:last]


LOOKS = "self.embed(input_ids) * (2 if input_ids.sum() > 0 else 1)"
SQUARE = "self.embed(input_ids).repeat(len(input_ids), 1, 1)[: len(input_ids)]"
BY_ROW = "torch.stack([self.embed(row) for row in input_ids])"


UNTRACEABLE = [
    (LOOKS, "DataDependentOutputException"),
    ("self.embed(input_ids.float())", "RuntimeError: "),
    (SQUARE, "does not grow linearly"),
    (BY_ROW, "operations for 2 rows and"),
]


@pytest.mark.parametrize(
    ("made", "words"),
    cases(UNTRACEABLE, quick=UNTRACEABLE[:1], reason="more models that cannot be traced"),
    ids=["values", "types", "square", "row by row"],
)
def test_a_model_that_cannot_be_traced(tmp_path: Path, made: str, words: str) -> None:
    assert NET.count("self.embed(input_ids)") == 1
    write_net(tmp_path, NET.replace("self.embed(input_ids)", made))
    with pytest.raises(DiagnosticError) as caught:
        trace_model(own(16), warm("torch"), folder=tmp_path)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "CC452"
    assert words in diagnostic.message
    if "linear" not in words and "rows" not in words:
        assert diagnostic.span is not None
        assert diagnostic.span.file == "net.py"
        assert "self.embed" in diagnostic.span.text


def test_a_model_that_does_not_start_is_told(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("def build_model():\n    raise ValueError('no weights')\n")
    ids = np.ones((4, 32), np.int32)
    np.savez(tmp_path / "train.npz", labels=ids[:, 0], input_ids=ids)
    with pytest.raises(DiagnosticError) as caught:
        trace_model(recipe_of(**OWN), warm("torch"), folder=tmp_path)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, "no weights" in diagnostic.message) == ("CC452", True)
