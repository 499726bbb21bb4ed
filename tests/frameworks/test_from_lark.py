"""A static Paddle 1 classifier trains alike in place in Paddle 3 and in other frameworks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import static_classifier
from crosscast.messages.source import Source
from crosscast_migrate.across_frameworks import migrate_across
from crosscast_migrate.in_place import migrate_in_place
from crosscast_migrate.registry import codemods_to
from frameworks.script_runs import calls
from frameworks.subprocesses import start
from tiers import exhaustive

ROWS, LENGTH = 80, 16
BOUND = 2e-3
"""Of a loss: Adam of Paddle 3 adds epsilon elsewhere than Paddle 1 and the moved scripts."""
NAMES = {
    "bert.embeddings.word_embeddings": "word",
    "bert.embeddings.position_embeddings": "place",
    "bert.embeddings.token_type_embeddings": "part",
    "bert.embeddings.LayerNorm": "first_layer_norm",
    "bert.encoder.layer.0.attention.self.query": "layer_0_query",
    "bert.encoder.layer.0.attention.self.key": "layer_0_key",
    "bert.encoder.layer.0.attention.self.value": "layer_0_value",
    "bert.encoder.layer.0.attention.output.dense": "layer_0_output",
    "bert.encoder.layer.0.attention.output.LayerNorm": "layer_0_attention_layer_norm",
    "bert.encoder.layer.0.intermediate.dense": "layer_0_wide",
    "bert.encoder.layer.0.output.dense": "layer_0_narrow",
    "bert.encoder.layer.0.output.LayerNorm": "layer_0_last_layer_norm",
    "bert.pooler.dense": "pooled",
    "classifier": "classes",
}
FLAGS = (
    *("--use_fp16=false", "--bert_config_path=encoder/bert_config.json", "--batch_size=128"),
    *("--in_tokens=true", "--max_seq_len=16", "--epoch=2", "--learning_rate=0.005"),
    "--random_seed=1",
)


def arrays() -> dict[str, np.ndarray]:
    random = np.random.default_rng(7)
    labels = random.integers(0, 3, (ROWS, 1))
    words = random.integers(5, 65, (ROWS, LENGTH))
    words[:, 5] = 10 + 3 * labels[:, 0]
    parts = np.zeros((ROWS, LENGTH), np.int64)
    parts[:, 8:] = 1
    places = np.tile(np.arange(LENGTH), (ROWS, 1))
    return {"words": words, "parts": parts, "places": places, "labels": labels}


def in_place(folder: Path) -> list[tuple[float, float]]:
    """Train the program that was migrated in place; return the losses and rates."""
    given = [Source(name, text) for name, text in static_classifier.FILES.items()]
    found = migrate_in_place(given, codemods_to("paddle3"))
    assert not found.refusals
    for name, text in (static_classifier.FILES | found.texts).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    np.savez(folder / "rows.npz", **arrays())  # type: ignore[arg-type]
    # Flags that are set before paddle is imported need a process that has not.
    done = start(folder / "train.py", "paddle", *FLAGS, fork=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return [(loss, rate) for loss, rate in json.loads(done.stdout.splitlines()[-1])]


def weights_of(start_file: Path) -> dict[str, np.ndarray]:
    """Return the weights that the program began with, by the names of the shipped BERT."""
    given = np.load(start_file)
    found = {}
    for ours, theirs in NAMES.items():
        if theirs in given:
            found[f"{ours}.weight"] = given[theirs]
        elif theirs.endswith("layer_norm"):
            found[f"{ours}.weight"] = given[f"{theirs}_scale"]
            found[f"{ours}.bias"] = given[f"{theirs}_bias"]
        else:
            found[f"{ours}.weight"] = np.ascontiguousarray(given[f"{theirs}.w_0"].T)
            found[f"{ours}.bias"] = given[f"{theirs}.b_0"]
    return found


def moved(folder: Path, target: str) -> Path:
    """Move the program to a framework, with what the user fills in; return its script."""
    settings: dict[str, object] = {
        **{"precision.mode": "none", "precision.compute_dtype": "float32"},
        **{"loss_scaling.mode": "none", "precision.tf32": False, "data.shuffle": False},
        **{"data.train": "rows.npz", "data.eval": "rows.npz", "batch.micro_batch_size": 8},
        **{"schedule.total_steps": 20, "accumulation.tail": "carry"},
    }
    given = [Source(name, text) for name, text in static_classifier.FILES.items()]
    across = migrate_across(given, [target], versions={"paddle": "1.8.5"}, settings=settings)
    assert not set(across.fill_in) - {"data.source"}
    for name, file in across.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(file.text, encoding="utf-8")
    return folder / target / "train.py"


@exhaustive("trains a program of Paddle 1 in place and in another framework, from the same weights")
@pytest.mark.paddle
@pytest.mark.parametrize("target", ["torch", "tensorflow"])
def test_both_migrations_train_alike(tmp_path: Path, target: str) -> None:
    here = in_place(tmp_path / "place")
    save_file(weights_of(tmp_path / "place" / "start.npz"), tmp_path / "start.safetensors")
    rows = arrays()
    np.savez(
        tmp_path / "rows.npz",
        input_ids=rows["words"],
        token_type_ids=rows["parts"],
        attention_mask=np.ones_like(rows["words"]),
        labels=rows["labels"][:, 0],
    )
    script = moved(tmp_path / "moved", target)
    data = ("--train", tmp_path / "rows.npz", "--eval", tmp_path / "rows.npz")
    flags = (*data, "--weights", tmp_path / "start.safetensors", "--device", "cpu")
    (run,) = calls(script, target, [(tmp_path / "run", flags)])
    assert run.code == 0, run.stderr
    assert len(here) == len(run.trace) == 20
    for (loss, rate), window in zip(here, run.trace, strict=True):
        assert window["lr"] == pytest.approx(rate, rel=1e-5, abs=1e-9)
        assert window["loss"] == pytest.approx(loss, abs=BOUND)
    assert run.trace[0]["loss"] == pytest.approx(here[0][0], abs=1e-5)  # of the same weights
    assert here[-1][0] < here[0][0]
