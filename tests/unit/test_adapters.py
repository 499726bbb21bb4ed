"""Adapters: the folders they write, and what they say about a recipe before it runs."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from crosscast.messages.codes import CODES
from crosscast.messages.diagnostics import DiagnosticError, Severity
from crosscast.recipe.document import Recipe
from crosscast.recipe.load import load
from crosscast_parity.adapters.limits import EVERY, LIMITS
from crosscast_parity.adapters.registry import ADAPTERS

BASE = {
    "model": "{kind: bert, preset: tiny, vocab_size: 512, max_positions: 32, labels: 3}",
    "data": "{source: synthetic, sequence_length: 24, train_rows: 64, eval_rows: 32}",
    "batch": "{micro_batch_size: 4, global_batch_size: 16}",
    "precision": "{mode: none}",
    "accumulation": "{steps: 4, normalize_by: microbatch, tail: flush}",
    "clipping": "{kind: global_norm, max_norm: 0.5}",
    "optimizer": "{name: sgd, learning_rate: 0.1}",
    "schedule": "{name: constant, total_steps: 8}",
}
HALF = {
    "precision": "{mode: mixed, compute_dtype: float16}",
    "loss_scaling": "{mode: dynamic, init_scale: 1024}",
}


def recipe(tmp_path: Path, **sections: str) -> Recipe:
    text = "version: 1\nname: adapters\n"
    text += "".join(f"{name}: {value}\n" for name, value in (BASE | sections).items())
    path = tmp_path / "recipe.yaml"
    path.write_text(text)
    return load(str(path))


def limits(name: str, found: Recipe) -> dict[str, str]:
    return {d.path: d.code for d in ADAPTERS[name].limits(found)}


@pytest.mark.parametrize("name", sorted(ADAPTERS))
def test_folder(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    adapter = ADAPTERS[name]
    found = adapter.write(recipe(tmp_path), folder)
    assert all(d.severity is not Severity.ERROR for d in found)
    scripts = {"train.py", "rates.py", "emitted.py", "model.py", "loop.py"}
    assert scripts <= {path.name for path in folder.iterdir()}
    for script in folder.glob("*.py"):
        text = script.read_text()
        ast.parse(text)
        assert "import crosscast" not in text
        assert "from crosscast" not in text
    settings = json.loads((folder / "settings.json").read_text())
    assert settings["clipping"]["max_norm"] == 0.5
    assert settings["loss_scaling"] is None
    needed = (folder / "requirements.txt").read_text()
    assert all(package in needed for package in adapter.packages)
    adapter.write(recipe(tmp_path, **HALF), folder)  # overwritten, even if edited
    settings = json.loads((folder / "settings.json").read_text())
    assert settings["loss_scaling"]["init_scale"] == 1024
    assert settings["precision"] == "float16"


def test_registry() -> None:
    assert set(ADAPTERS) == EVERY
    assert {a.framework for a in ADAPTERS.values()} == {"torch", "tensorflow"}
    assert {"CC736", "CC737", "CC738", "CC739"} <= set(CODES)
    assert all(limit.adapters <= EVERY for limit in LIMITS)


def test_quiet_where_the_trainer_does_the_same(tmp_path: Path) -> None:
    plain = recipe(tmp_path)
    assert all(not limits(name, plain) for name in ADAPTERS)


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        (
            {
                "accumulation": "{steps: 4, normalize_by: sample}",
                "data": BASE["data"].replace("64", "66"),
            },
            {
                "accelerate": {"accumulation.tail", "accumulation.normalize_by"},
                "transformers": set(),
                "lightning": {"accumulation.tail", "accumulation.normalize_by"},
                "keras": {"accumulation.tail", "accumulation.normalize_by"},
            },
        ),
        (
            HALF | {"schedule": "{name: linear, total_steps: 8}"},
            {
                "accelerate": {"precision.compute_dtype"},
                "transformers": {"precision.compute_dtype", "loss_scaling"},
                "lightning": {"precision.compute_dtype", "schedule.tick"},
                "keras": {"loss_scaling.growth_interval", "schedule"},
            },
        ),
        (
            HALF | {"loss_scaling": "{mode: dynamic, hysteresis: 2, growth_factor: 4.0}"},
            {
                "accelerate": {"precision.compute_dtype", "loss_scaling"},
                "lightning": {"precision.compute_dtype", "loss_scaling"},
                "keras": {
                    "loss_scaling",
                    "loss_scaling.growth_factor",
                    "loss_scaling.growth_interval",
                },
            },
        ),
        (
            {"optimizer": "{name: adamw, learning_rate: 1e-3, weight_decay: 0.1}"},
            {"accelerate": set(), "keras": {"optimizer.eps_placement"}},
        ),
        (
            {
                "optimizer": "{name: sgd, learning_rate: 0.1, momentum: 0.9}",
                "schedule": "{name: linear, total_steps: 8}",
            },
            {"lightning": set(), "keras": {"optimizer.rate_in_momentum", "schedule"}},
        ),
    ],
)
def test_warned(tmp_path: Path, sections: dict[str, str], expected: dict[str, set[str]]) -> None:
    found = recipe(tmp_path, **sections)
    for name, paths in expected.items():
        assert limits(name, found) == dict.fromkeys(paths, "CC737"), name
        ADAPTERS[name].write(found, tmp_path / name)


@pytest.mark.parametrize(
    ("sections", "path", "names"),
    [
        ({"precision": "{mode: full, compute_dtype: bfloat16}"}, "precision.mode", EVERY),
        (HALF | {"loss_scaling": "{mode: static, scale: 8.0}"}, "loss_scaling.mode", EVERY),
        ({"ema": "{decay: 0.9}"}, "ema.decay", EVERY),
        ({"clipping": "{kind: per_param_norm, max_norm: 1.0}"}, "clipping.kind", EVERY - {"keras"}),
        ({"clipping": "{kind: value, max_value: 1.0}"}, "clipping.kind", {"transformers"}),
        (
            {"clipping": "{kind: global_norm, max_norm: 1.0, exempt: [bias]}"},
            "clipping.exempt",
            EVERY,
        ),
        ({"optimizer": "{name: lamb, learning_rate: 1e-3}"}, "optimizer.name", {"keras"}),
        (
            {"optimizer": "{name: adam, learning_rate: 1e-3, weight_decay: 0.1}"},
            "optimizer.weight_decay",
            {"keras"},
        ),
    ],
)
def test_refused(tmp_path: Path, sections: dict[str, str], path: str, names: set[str]) -> None:
    found = recipe(tmp_path, **sections)
    for name, adapter in ADAPTERS.items():
        refused = {d.path for d in adapter.limits(found) if d.severity is Severity.ERROR}
        assert (path in refused) == (name in names), name
        if name in names:
            with pytest.raises(DiagnosticError, match="CC738"):
                adapter.write(found, tmp_path / name)
            assert not (tmp_path / name).exists()
