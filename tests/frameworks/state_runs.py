"""Runs of emitted scripts that stop, and go on elsewhere: many in one process per framework."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosscast.recipe.document import Recipe
from crosscast.recipe.yaml_text import recipe_text
from frameworks.emitted_script import emit, tiny_recipe, write_rows
from frameworks.subprocesses import require, start

FRAMEWORKS = ("torch", "tensorflow", "paddle", "jax")
PAIRS = [(a, b) for a in FRAMEWORKS for b in FRAMEWORKS if a != b]
HALF, WHOLE = 50, 100
ROWS = 52  # six windows of eight rows, and one of four

MODEL = {
    "kind": "bert",
    "layers": 1,
    "hidden_size": 16,
    "attention_heads": 2,
    "intermediate_size": 32,
    "vocab_size": 128,
    "max_positions": 16,
    "labels": 3,
    "dropout": 0.0,
}
COMMON: dict[str, Any] = {
    "model": MODEL,
    "batch": {"micro_batch_size": 4, "global_batch_size": 8},
    "clipping": {"kind": "global_norm", "max_norm": 0.5},
    "schedule": {"name": "linear", "warmup_steps": 10, "total_steps": WHOLE},
}
ADAMW = {"name": "adamw", "learning_rate": 2e-3, "weight_decay": 0.1}
SGD = {"name": "sgd", "learning_rate": 0.05, "momentum": 0.9, "weight_decay": 0.01}
HALF_TYPE = {"mode": "mixed", "compute_dtype": "float16"}
# Windows 49 and 50 overflow: the first of two in a row is on one side, the second on the other.
FAULTS = ("20:0=inf", "21:1=inf", "47:0=inf", "49:0=inf", "50:1=nan", "63:1=inf", "64:0=inf")
# The same of a short run: of windows 11 and 12 each is on its side.
FEW_FAULTS = ("3:0=inf", "11:0=inf", "12:1=nan", "18:1=inf", "19:0=inf")
SCALED: Mapping[str, Any] = {
    "precision": HALF_TYPE,
    "loss_scaling": {
        "mode": "dynamic",
        "init_scale": 1024.0,
        "growth_interval": 7,
        "hysteresis": 2,
    },
}
RECIPES: Mapping[str, Mapping[str, Any]] = {
    "adamw-float32": {"optimizer": ADAMW, "ema": {"decay": 0.9}},
    "sgd-float32": {"optimizer": SGD},
    "adamw-float16": {"optimizer": ADAMW, **SCALED},
    "sgd-float16": {
        "optimizer": SGD,
        "precision": HALF_TYPE,
        "loss_scaling": {"mode": "dynamic", "init_scale": 1024.0, "growth_interval": 7},
        "schedule": COMMON["schedule"] | {"tick": "attempt"},
    },
}


# Forms of optimizers that not all frameworks have themselves, an epsilon that shows; float16.
FORMS: Mapping[str, Mapping[str, Any]] = {
    "form-float16": {"optimizer": ADAMW, **SCALED},
    "form-raw-epsilon": {"optimizer": ADAMW | {"eps": 1e-3, "eps_placement": "before_correction"}},
    "form-no-correction": {"optimizer": ADAMW | {"bias_correction": False}},
    "form-rate-inside": {"optimizer": SGD | {"rate_in_momentum": True, "nesterov": True}},
}


def pairs_of(recipe: str) -> list[tuple[str, str]]:
    """The ordered pairs that are tried: all six, or three where each is source and target once."""
    ring = list(zip(FRAMEWORKS, (*FRAMEWORKS[1:], FRAMEWORKS[0]), strict=True))
    return ring if recipe in FORMS else PAIRS


def windows_of(recipe: str) -> tuple[int, int]:
    """How many windows the half of a run has, and the whole one."""
    return (HALF, WHOLE) if recipe in RECIPES else (12, 24)


@dataclass(frozen=True)
class Job:
    """One run: its recipe's name, its folder below the framework's, and its options."""

    recipe: str
    name: str
    options: tuple[object, ...]


@dataclass(frozen=True)
class Lab:
    """A folder with the scripts of several recipes for all frameworks, and data."""

    folder: Path
    recipes: Mapping[str, Recipe]

    def recipe_file(self, recipe: str) -> Path:
        """The recipe that scripts were compiled from."""
        return self.folder / f"{recipe}.yaml"

    def output(self, framework: str, recipe: str, name: str) -> Path:
        """The folder of a run."""
        return self.folder / "runs" / framework / recipe / name

    def trace(self, framework: str, recipe: str, name: str) -> list[dict[str, Any]]:
        """The rows of a run."""
        text = (self.output(framework, recipe, name) / "trace.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def run(self, framework: str, *jobs: Job) -> None:
        """Make runs in one process; every one has to finish."""
        require(framework)
        folder = self.folder / "sessions" / f"{framework}-{jobs[0].recipe}-{jobs[0].name}"
        folder.mkdir(parents=True)
        runs = [self._spec(framework, job) for job in jobs]
        spec = {"inside": f"crosscast_{framework}.inside", "emulate": True, "runs": runs}
        (folder / "spec.json").write_text(json.dumps(spec))
        spec_file = folder / "spec.json"
        done = start("crosscast_parity.inside.session", framework, spec_file, timeout=900)
        assert done.returncode == 0, done.stderr[-3000:]
        for job in jobs:
            output = self.output(framework, job.recipe, job.name)
            ended = json.loads((output / "done.json").read_text())
            assert ended["exit_code"] == 0, (output / "log.txt").read_text()[-3000:]

    def _spec(self, framework: str, job: Job) -> dict[str, Any]:
        output = self.output(framework, job.recipe, job.name)
        output.mkdir(parents=True, exist_ok=True)
        data = ("--train", self.folder / "train.npz", "--eval", self.folder / "eval.npz")
        weights = self.folder / f"{job.recipe}.safetensors"
        start = ("--weights", weights) if weights.exists() and "--resume" not in job.options else ()
        device = ("--device", "cpu", "--threads", 1, "--log-every", WHOLE)
        options = (*data, *start, *device, "--output", output, *job.options)
        faults = FAULTS if job.recipe in RECIPES else FEW_FAULTS
        scaled = self.recipes[job.recipe].scaling_on
        return {
            "name": f"{job.recipe}-{job.name}",
            "script": str(self.folder / job.recipe / framework / "train.py"),
            "arguments": list(map(str, options)),
            "output": str(output),
            "faults": list(faults) if scaled else [],
            "record": [],
            "manifest": False,
        }


def make_lab(folder: Path, recipes: Mapping[str, Mapping[str, Any]]) -> Lab:
    """Compile recipes for every framework and make their data."""
    write_rows(folder / "train.npz", ROWS)
    write_rows(folder / "eval.npz", 12, seed=1)
    built = {name: tiny_recipe(**{**COMMON, **fields}) for name, fields in recipes.items()}
    for name, recipe in built.items():
        (folder / f"{name}.yaml").write_text(recipe_text(recipe))
        for framework in FRAMEWORKS:
            emit(recipe, framework, folder / name / framework)
    return Lab(folder, built)
