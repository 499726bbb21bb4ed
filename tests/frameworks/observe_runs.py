"""Observed runs of emitted scripts, all of one framework in one process, and their files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open

from crosscast.recipe.document import Recipe
from crosscast_parity.self_test.mutation import apply
from frameworks.emitted_script import BFLOAT16, FLOAT16, TINY, emit, tiny_recipe, write_rows
from frameworks.subprocesses import require, start
from mutants.spelling import written

MAX_NORM = 0.35
SCALING = {"mode": "dynamic", "init_scale": 1024.0, "growth_interval": 2}
CLIPPING = {"kind": "global_norm", "max_norm": MAX_NORM}
MODEL = TINY["model"] | {"layers": 1}
RECIPES: dict[str, dict[str, Any]] = {
    "float": {},
    "half": {"precision": FLOAT16, "loss_scaling": SCALING},
    "bfloat": {"precision": BFLOAT16},
    "full": {"precision": FLOAT16 | {"mode": "full"}, "loss_scaling": SCALING},
    "lamb": {
        "precision": FLOAT16,
        "loss_scaling": SCALING,
        "optimizer": {"name": "lamb", "learning_rate": 1e-3},
        "ema": {"decay": 0.5},
        "activation_checkpointing": True,
    },
}
ROWS = 42
"""Windows of 16, 16 and 10 rows; the last micro-batch of the third has 2."""
HALF_FAULTS = ("1:0=inf",)
EDITS: dict[str, dict[str, tuple[str, str, str]]] = {
    "torch": {
        "softmax": (
            "model.py",
            "weights = F.softmax(scores + mask, dim=-1)",
            "with torch.autocast(scores.device.type, enabled=False):\n"
            "            weights = F.softmax((scores + mask).half(), dim=-1)",
        ),
        "loss": (
            "train.py",
            'return nn.functional.cross_entropy(logits, labels, reduction="sum")',
            "with torch.autocast(logits.device.type, enabled=False):\n"
            '        return nn.functional.cross_entropy(logits.half(), labels, reduction="sum")',
        ),
    },
    "tensorflow": {
        "softmax": (
            "model.py",
            "tf.nn.softmax(scores + mask)",
            "float32(tf.nn.softmax(tf.cast(scores + mask, tf.float16)))",
        ),
        "loss": (
            "train.py",
            "tf.cast(model(**inputs, training=training), tf.float32)",
            "tf.cast(model(**inputs, training=training), tf.float16)",
        ),
    },
    "paddle": {
        "softmax": (
            "model.py",
            "weights = F.softmax(scores / HEAD_SIZE**0.5 + mask, axis=-1)",
            "with paddle.amp.auto_cast(enable=False):\n"
            '            half = (scores / HEAD_SIZE**0.5 + mask).astype("float16")\n'
            "            weights = F.softmax(half, axis=-1)",
        ),
        "loss": (
            "train.py",
            'return F.cross_entropy(logits, labels, reduction="sum")',
            "with paddle.amp.auto_cast(enable=False):\n"
            '        return F.cross_entropy(logits.astype("float16"), labels, reduction="sum")',
        ),
    },
}
"""Operations moved to half in the half script: file, what stands there, what stands instead.

Autocast computes a loss in float32 whatever the type of the logits, so the loss leaves it.
"""


EVALUATIONS = {"evaluated_in_float32": "float32", "evaluated_in_other_half": "bfloat16"}
"""Planted bugs of the half script, and the type in which its evaluation then computes."""


@dataclass(frozen=True)
class Window:
    """One recorded window."""

    facts: dict[str, Any]
    arrays: dict[str, np.ndarray]

    def group(self, name: str) -> dict[str, np.ndarray]:
        """Return the arrays of one kind by parameter."""
        prefix = name + "/"
        return {n.removeprefix(prefix): a for n, a in self.arrays.items() if n.startswith(prefix)}


def windows(folder: Path) -> list[Window]:
    """Read the recorded windows of a run."""
    found = []
    for path in sorted(folder.glob("window-*.safetensors")):
        with safe_open(path, framework="np") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            found.append(Window(json.loads(file.metadata()["observation"]), arrays))
    assert not list(folder.glob("*.partial"))
    return found


def manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a run."""
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return found


def recipe(name: str) -> Recipe:
    """Return one of the recipes, with one layer and clipped."""
    return tiny_recipe(model=MODEL, clipping=CLIPPING, **RECIPES[name])


def emit_all(framework: str, folder: Path) -> None:
    """Write rows and the scripts of every recipe, and the half script with each edit."""
    write_rows(folder / "train.npz", ROWS)
    write_rows(folder / "eval.npz", 8, seed=1)
    for name in RECIPES:
        emit(recipe(name), framework, folder / name)
    for name, (file, old, new) in EDITS[framework].items():
        edited = emit(recipe("half"), framework, folder / name) / file
        text = edited.read_text()
        assert text.count(old) == 1, (file, old)
        edited.write_text(text.replace(old, new))
    for bug in written(import_module(f"mutants.{framework}_products").PRODUCTS):
        if bug.name in EVALUATIONS:
            assert apply(bug, emit(recipe("half"), framework, folder / bug.name))


@dataclass(frozen=True)
class Plan:
    """One run: its recipe (or edit), windows to train, which to record, whether a manifest."""

    name: str
    script: str
    windows: int
    record: Sequence[int] = ()
    manifest: bool = False
    faults: tuple[str, ...] = ()


def session(framework: str, folder: Path, plans: Sequence[Plan], emulate: bool) -> Path:
    """Make the runs in one process; return the folder with one folder a run."""
    require(framework)
    output = folder / ("emulated" if emulate else "native")
    runs = []
    for plan in plans:
        (output / plan.name).mkdir(parents=True)
        data = ["--train", folder / "train.npz", "--eval", folder / "eval.npz"]
        flags = [*data, "--output", output / plan.name, "--device", "cpu", "--threads", 1]
        runs.append(
            {
                "name": plan.name,
                "script": str(folder / plan.script / "train.py"),
                "arguments": list(map(str, [*flags, "--windows", plan.windows])),
                "output": str(output / plan.name),
                "faults": plan.faults,
                "record": list(plan.record),
                "manifest": plan.manifest,
            }
        )
    spec = output / "spec.json"
    inside = f"crosscast_{framework}.inside"
    spec.write_text(json.dumps({"inside": inside, "emulate": emulate, "runs": runs}))
    done = start("crosscast_parity.inside.session", framework, spec, timeout=570)
    assert done.returncode == 0, done.stderr[-3000:]
    for plan in plans:
        ended = json.loads((output / plan.name / "done.json").read_text())
        log = (output / plan.name / "log.txt").read_text(errors="replace")
        assert ended["exit_code"] == 0, log[-3000:]
    return output


def same_results(path: Path, other: Path) -> None:
    """Check that two runs left the same trace and the same weights, bit by bit."""
    for name in ("trace.jsonl", "model.safetensors"):
        assert (path / name).read_bytes() == (other / name).read_bytes(), name
