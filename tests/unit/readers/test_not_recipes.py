"""Programs and configurations of other tools in place of a recipe: one diagnostic, not forty."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from crosscast.cli import app
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.messages.source import Source
from crosscast.recipe.load import placed_recipe
from crosscast.targets.source_support import installed_support
from crosscast_reading.readers.not_recipes import CONFIGURATIONS
from recipe_texts import BASE, text_of

_TRAINER = """\
per_device_train_batch_size: 8
gradient_accumulation_steps: 4
learning_rate: 5.0e-5
max_grad_norm: 1.0
lr_scheduler_type: linear
warmup_ratio: 0.1
num_train_epochs: 3
fp16: true
output_dir: out
per_device_eval_batch_size: 8
eval_strategy: epoch
save_strategy: epoch
save_total_limit: 2
logging_steps: 10
load_best_model_at_end: true
"""
_JSON = {
    "per_device_train_batch_size": 8,
    "learning_rate": 5e-5,
    "num_train_epochs": 3,
    "lr_scheduler_type": "cosine",
    "gradient_accumulation_steps": 2,
    "fp16": True,
    "logging_steps": 5,
    "save_strategy": "epoch",
}
_DEEPSPEED = """\
{"train_batch_size": 32, "gradient_accumulation_steps": 4, "gradient_clipping": 1.0,
 "fp16": {"enabled": true, "loss_scale": 0, "initial_scale_power": 16},
 "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "betas": [0.9, 0.999]}},
 "zero_optimization": {"stage": 1}}
"""
_AXOLOTL = """\
base_model: some/model
datasets:
  - path: some/data
    type: alpaca
sequence_len: 2048
micro_batch_size: 2
gradient_accumulation_steps: 4
num_epochs: 1
optimizer: paged_adamw_8bit
lr_scheduler: cosine
learning_rate: 0.0002
bf16: auto
tf32: false
"""
_LIGHTNING = """\
seed_everything: 1
trainer:
  max_steps: 100
  precision: 16-mixed
  accumulate_grad_batches: 4
  gradient_clip_val: 1.0
model:
  class_path: mine.Model
  init_args:
    hidden: 4
optimizer:
  class_path: torch.optim.AdamW
  init_args:
    lr: 0.001
"""
_ACCELERATE = """\
compute_environment: LOCAL_MACHINE
distributed_type: MULTI_GPU
mixed_precision: fp16
num_machines: 1
num_processes: 4
use_cpu: false
"""
_TORCHTUNE = """\
model:
  _component_: torchtune.models.llama3.llama3_8b
optimizer:
  _component_: torch.optim.AdamW
  fused: True
  lr: 2e-5
loss:
  _component_: torchtune.modules.loss.CEWithChunkedOutputLoss
batch_size: 2
gradient_accumulation_steps: 8
epochs: 1
max_steps_per_epoch: null
seed: null
dtype: bf16
"""
_USUAL = "lr: 0.001\nbatch_size: 32\nepochs: 10\nweight_decay: 0.01\nfp16: true\n"
_PYTHON = """\
import torch

model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
_SHELL = "#!/bin/sh\ntorchrun --nproc_per_node 4 train.py --fp16 --learning_rate 1e-4\n"

FILES = [
    pytest.param("args.yaml", _TRAINER, "Hugging Face", id="Trainer"),
    pytest.param("args.json", json.dumps(_JSON), "Hugging Face", id="Trainer, JSON"),
    pytest.param("ds.json", _DEEPSPEED, "DeepSpeed", id="DeepSpeed"),
    pytest.param("ax.yml", _AXOLOTL, "axolotl", id="axolotl"),
    pytest.param("pl.yaml", _LIGHTNING, "Lightning", id="Lightning"),
    pytest.param("acc.yaml", _ACCELERATE, "Accelerate", id="Accelerate"),
    pytest.param("tune.yaml", _TORCHTUNE, "torchtune", id="torchtune"),
    pytest.param("mine.yaml", _USUAL, "configuration of another tool", id="usual names"),
    pytest.param("train.py", _PYTHON, "Python program", id="Python"),
    pytest.param("broken.py", "def (", "Python program", id="broken Python"),
    pytest.param("train.ipynb", "{}", "notebook", id="notebook"),
    pytest.param("run.sh", _SHELL, "shell script", id="shell"),
]


def _problems(name: str, text: str) -> list[str]:
    with pytest.raises(DiagnosticError) as caught:
        placed_recipe(Source(name, text))
    return [problem.code for problem in caught.value.diagnostics]


@pytest.mark.parametrize(("name", "text", "words"), FILES)
def test_check_says_what_a_file_is(tmp_path: Path, name: str, text: str, words: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    result = CliRunner().invoke(app, ["check", str(path)])
    assert result.exit_code == 2
    assert result.stderr.count("error CC") == 1
    assert f"error CC022: {path}: this looks like a " in result.stderr
    assert words in result.stderr
    assert f"try `crosscast lift {path}`" in result.stderr


@pytest.mark.parametrize(("name", "text", "words"), FILES[:8])
def test_lift_reads_what_it_is_recommended_for(
    tmp_path: Path, name: str, text: str, words: str
) -> None:
    (tmp_path / name).write_text(text)
    result = CliRunner().invoke(app, ["lift", str(tmp_path / name), "--json"])
    assert name in result.stdout
    assert "learning_rate" in result.stdout or "precision" in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("compile", "{}", "--to", "torch", "-o", "-"),
        ("show", "{}"),
        ("plan", "{}", "--memory", "1GiB"),
        ("parity", "{}", "--to", "torch,paddle", "-o", "out"),
        ("check-scaling", "{}", "--to", "torch"),
        ("sweep", "{}", "--to", "torch", "-o", "out"),
        ("weights", "match", "{}"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_every_command_for_recipes_says_it(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    path = tmp_path / "ds.json"
    path.write_text(_DEEPSPEED)
    result = CliRunner().invoke(app, [word.format(path) for word in arguments])
    assert result.exit_code == 2
    assert "error CC022" in result.stderr
    assert "CC101" not in result.stderr


def test_stdin() -> None:
    for text in (_DEEPSPEED, _PYTHON, _TRAINER):
        result = CliRunner().invoke(app, ["check", "-"], input=text)
        assert "error CC022" in result.stderr
        assert "try `crosscast lift -`" in result.stderr


@pytest.mark.parametrize(
    "text",
    [
        text_of(lr="1e-3", fp16="true", batch_size="8", max_grad_norm="1", epochs="2"),
        text_of(version=None, lr="1e-3", fp16="true"),
        text_of(version=None, optimizer="{type: AdamW, params: {lr: 1}}"),
        text_of(version='"1"', name="5"),
        "version: 1\nmodel: {kind: bert}\nlr: 1\nbatch_size: 8\nepochs: 1\nfp16: true\n",
        "model: {kind: bert, preset: tiny}\nlearning_rate: 1\n",
        "version: 1\nname: a\n  b: [",
        "",
        "[]",
        "import: 1\n",
        "from here: 1\n",
    ],
    ids=lambda text: text[:40],
)
def test_recipes_with_mistakes_are_taken_for_recipes(text: str) -> None:
    assert "CC022" not in _problems("r.yaml", text)
    assert "CC022" not in _problems("<stdin>", text)


def test_every_reader_has_words() -> None:
    names = {name for support in installed_support().values() for name in support.text_readers}
    assert names - {"recipe"} == CONFIGURATIONS.keys()
    assert len(BASE) > 5
