"""Stand-ins for the parity tests: a NumPy script that keeps the contract, recipes, traces."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Plan
from crosscast.recipe.document import Recipe
from crosscast.recipe.versions import upgraded
from crosscast_parity.levels.machine import replay
from crosscast_parity.recordings.trace import TraceRow

# A linear classifier on mean word vectors, trained by SGD. `BUG` names one deliberate mistake.
FAKE_SCRIPT = '''\
"""A fake emitted script."""
import argparse
import json
import math
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from safetensors.numpy import load_file, save_file

BUG = "@BUG@"
SCALED = @SCALED@
MICRO, STEPS, LR, WARMUP, TOTAL = 8, 2, 0.5, 4, 64
INIT, INTERVAL = @INIT@, @INTERVAL@


def learning_rate(position):
    if position < WARMUP:
        return LR * position / WARMUP
    return LR * (1 - (position - WARMUP) / (TOTAL - WARMUP))


def micro_batch_loss(state, batch):
    state.probabilities = probabilities(state, batch)
    chosen = state.probabilities[np.arange(len(batch["labels"])), batch["labels"]]
    return -np.log(chosen).mean()


def probabilities(state, batch):
    state.features = state.words[batch["input_ids"]].mean(1) * 50
    logits = state.features @ state.kernel.T
    if BUG == "noise":
        logits = logits * (1 + 1e-8 * np.cos(np.arange(logits.shape[1]) + state.windows))
    exponent = np.exp(logits - logits.max(1, keepdims=True))
    return exponent / exponent.sum(1, keepdims=True)


def train_window(state, micro_batches, loss_fn):
    ticks = state.windows if BUG == "tick_on_skip" else state.updates
    lr, scale = learning_rate(ticks), state.scale
    gradient, loss = np.zeros_like(state.kernel), 0.0
    with np.errstate(all="ignore"):
        for batch in micro_batches:
            part = loss_fn(state, batch) / len(micro_batches)
            hot = state.probabilities.copy()
            hot[np.arange(len(hot)), batch["labels"]] -= 1
            factor = part * 0 + 1 if math.isfinite(part) else part
            gradient += factor * (hot.T @ state.features) / len(hot) / len(micro_batches)
            loss += part
        norm = float(np.linalg.norm(gradient))
    finite = math.isfinite(norm) or BUG == "no_skip"
    skipped = SCALED and not finite
    if not skipped:
        state.kernel = state.kernel - lr * gradient
        state.updates += 1
    if SCALED:
        state.good = 0 if skipped else state.good + 1
        late = BUG == "late_growth"
        if skipped:
            state.scale *= 0.5
        elif state.good >= INTERVAL + late:
            state.good, state.scale = 0, state.scale * 2
    state.windows += 1
    if BUG == "one_loss" and state.windows == 11:
        loss += 1e-3
    if BUG == "unsteady":
        loss += 1e-9 * (time.time() % 1)
    if BUG == "greedy" and state.windows == 5:
        state.hoard = np.ones(5 * 10**7)
        time.sleep(4)
    return {
        "window": state.windows - 1, "n_micro": len(micro_batches),
        "rows": sum(len(b["labels"]) for b in micro_batches), "loss": float(loss), "lr": lr,
        "grad_norm": norm, "scale": scale if SCALED else 1.0, "skipped": bool(skipped),
        "updates": state.updates,
    }


def batches(rows):
    n, window = len(rows["labels"]), MICRO * STEPS
    while True:
        for first in range(0, n, window):
            if BUG == "tail_dropped" and first + window > n:
                continue
            yield [
                {k: a[i : min(i + MICRO, first + window)] for k, a in rows.items()}
                for i in range(first, min(first + window, n), MICRO)
            ]


def finite(row):
    bad = [k for k, v in row.items() if isinstance(v, float) and not math.isfinite(v)]
    return row | dict.fromkeys(bad)


def main(argv=None):
    parser = argparse.ArgumentParser()
    for name in ("train", "eval", "weights", "output"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--windows", type=int)
    parser.add_argument("--device")
    parser.add_argument("--threads")
    args = parser.parse_args(argv)
    status = {"status": "finished", "exit_code": 0, "message": "", "device": "cpu"}
    status["versions"] = {"numpy": np.__version__}
    if BUG == "cannot_run":
        status |= {"status": "cannot_run", "exit_code": 3, "message": "AMP is not native here"}
        (args.output / "status.json").write_text(json.dumps(status))
        return 3
    if BUG == "missing":
        import torch_of_nobody
    weights = load_file(args.weights)
    state = SimpleNamespace(windows=0, updates=0, scale=INIT, good=0)
    state.words = weights["bert.embeddings.word_embeddings.weight"].astype(np.float64)
    state.kernel = weights["classifier.weight"].astype(np.float64)
    data = batches(dict(np.load(args.train)))
    with open(args.output / "trace.jsonl", "w") as trace:
        for window in range(args.windows):
            row = train_window(state, next(data), micro_batch_loss)
            print(json.dumps(finite(row)), file=trace, flush=True)
            if BUG == "crash" and window == 7:
                print("<script>alert(1)</script>", flush=True)
                os.abort()
            if BUG == "hang" and window == 3:
                time.sleep(60)
    held = dict(np.load(args.eval))
    wrong = probabilities(state, held).argmax(1) != held["labels"]
    status["eval"] = {"loss": float(micro_batch_loss(state, held)), "accuracy": 1 - wrong.mean()}
    status |= {"windows": state.windows, "updates": state.updates}
    (args.output / "status.json").write_text("{" if BUG == "garbage" else json.dumps(status))
    save_file({"classifier.weight": state.kernel}, args.output / "checkpoint.safetensors")
    kernel = state.kernel.astype(np.float32)
    save_file({"classifier.weight": kernel}, args.output / "model.safetensors")
    return 0


if BUG == "no_seam":
    step, own_loss = train_window, micro_batch_loss

    def plain_main(argv=None, main=main):
        globals().update(train_window=step, micro_batch_loss=own_loss)
        return main(argv)

    main = plain_main
    del train_window, micro_batch_loss


if __name__ == "__main__":
    sys.exit(main())
'''


def make_recipe(*, scaled: bool = True, **changes: Mapping[str, Any]) -> Recipe:
    """The recipe that the fake script realises; `changes` update whole sections."""
    dynamic = {"mode": "dynamic", "init_scale": 1024.0, "growth_interval": 5}
    document: dict[str, Any] = {
        "version": 1,
        "name": "fake",
        "model": {
            "kind": "bert",
            "layers": 1,
            "hidden_size": 8,
            "attention_heads": 1,
            "intermediate_size": 8,
            "vocab_size": 64,
            "max_positions": 16,
            "labels": 3,
            "dropout": 0.0,
        },
        "data": {
            "source": "synthetic",
            "sequence_length": 16,
            "train_rows": 100,  # the seventh window of an epoch holds 4 rows
            "eval_rows": 32,
        },
        "batch": {"micro_batch_size": 8, "global_batch_size": 16},
        "loss_scaling": dynamic if scaled else {"mode": "none"},
        "accumulation": {"steps": 2},
        "optimizer": {"name": "sgd", "learning_rate": 0.5},
        "schedule": {"name": "linear", "total_steps": 64, "warmup_steps": 4},
    }
    for section, values in changes.items():
        document[section] = document.get(section, {}) | values
    return Recipe.model_validate(upgraded(document))


def write_fakes(
    folder: Path,
    bugs: Mapping[str, str],
    *,
    scaled: bool = True,
    init: float = 1024.0,
    interval: int = 5,
) -> None:
    """Write one fake script per target with its bug (empty for none)."""
    for target, bug in bugs.items():
        text = FAKE_SCRIPT.replace("@BUG@", bug).replace("@SCALED@", str(scaled))
        text = text.replace("@INIT@", repr(init)).replace("@INTERVAL@", str(interval))
        (folder / target).mkdir(parents=True, exist_ok=True)
        (folder / target / "train.py").write_text(text)


def good_rows(
    windows: int = 40, *, plan: Plan | None = None, skipped: Sequence[int] = (), noise: float = 0.0
) -> list[TraceRow]:
    """A trace as the plan wants it: falling loss, the given windows skipped, noise on the loss."""
    blank = [
        TraceRow(
            window=t,
            n_micro=2,
            rows=16,
            loss=1.1 / (1 + 0.01 * t) + noise * math.sin(7 * t),
            lr=0.0,
            grad_norm=None if t in skipped else 0.5 + 0.1 * math.cos(t),
            scale=1.0,
            skipped=t in skipped,
            updates=0,
        )
        for t in range(windows)
    ]
    expected = replay(plan or canonical_plan(make_recipe()), blank)
    return [
        replace(row, scale=e.scale, updates=e.updates, lr=e.lr)
        for row, e in zip(blank, expected, strict=True)
    ]
