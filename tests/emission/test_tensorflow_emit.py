"""The TensorFlow backend without TensorFlow: verdicts, and files as ruff would write them."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from crosscast.compiler import Compiled, compile_recipe
from crosscast.diagnostics import DiagnosticError, Severity
from crosscast.neutral_rows import NEUTRAL_ROWS
from crosscast.target import Form
from crosscast_tensorflow import BACKEND
from frameworks.emitted_script import BFLOAT16, FLOAT16, TINY, tiny_recipe

BERT: dict[str, Any] = TINY["model"]
MODELS: tuple[dict[str, Any], ...] = (
    BERT,
    BERT | {"dropout": 0.1},
    {"kind": "custom", "factory": {"tensorflow": "m:f"}},
)
DYNAMIC = {"mode": "dynamic", "init_scale": 1024.0}
SCALINGS: tuple[dict[str, Any], ...] = (
    {"precision": {}},
    {"precision": BFLOAT16},
    {"precision": FLOAT16, "loss_scaling": DYNAMIC},
    {
        "precision": FLOAT16,
        "loss_scaling": DYNAMIC | {"hysteresis": 3, "max_scale": 2.0**20, "min_scale": 0.5},
    },
    {"precision": FLOAT16, "loss_scaling": {"mode": "static", "scale": 128.0}},
    {"precision": FLOAT16, "loss_scaling": {"mode": "none"}},
)
CLIPPINGS: tuple[dict[str, Any], ...] = (
    {"kind": "none"},
    {"kind": "global_norm", "max_norm": 1.0},
    {"kind": "global_norm", "max_norm": 1.0, "eps": 0.0},
    {"kind": "value", "max_value": 0.5},
)
EVERY_ROLE = ["embedding", "layer_norm", "bias"]
RATE = {"learning_rate": 1e-3}
OPTIMIZERS: tuple[dict[str, Any], ...] = (
    RATE | {"name": "sgd"},
    RATE | {"name": "sgd", "weight_decay": 0.1},
    RATE | {"name": "sgd", "momentum": 0.9, "weight_decay": 0.1, "no_decay": ["bias"]},
    RATE | {"name": "sgd", "momentum": 0.9, "nesterov": True},
    RATE | {"name": "adam"},
    RATE | {"name": "adam", "weight_decay": 0.1, "no_decay": EVERY_ROLE},
    RATE | {"name": "adamw"},
    RATE | {"name": "adamw", "weight_decay": 0.0},
    RATE | {"name": "adamw", "no_decay": EVERY_ROLE},
)
SCHEDULES: tuple[dict[str, Any], ...] = (
    {"name": "constant", "total_steps": 5},
    {"name": "linear", "total_steps": 5, "warmup_steps": 2, "tick": "attempt"},
    {"name": "cosine", "total_steps": 5},
)
TAILS = ("flush_renormalized", "flush", "drop", "carry")
FORMS: tuple[Form, ...] = ("script", "step")


def emit(form: Form = "script", **sections: Any) -> Compiled:
    (compiled,) = compile_recipe(tiny_recipe(**sections), ["tensorflow"], form=form)
    return compiled


def test_files_are_what_ruff_would_write(tmp_path: Path) -> None:
    combinations = itertools.product(
        FORMS, TAILS, SCHEDULES, OPTIMIZERS, CLIPPINGS, SCALINGS, MODELS
    )
    # 15,552 in all; a step that shares no factor with the sizes meets every pair of values.
    chosen = list(itertools.islice(combinations, 0, None, 61))
    for number, (form, tail, schedule, optimizer, clipping, scaling, model) in enumerate(chosen):
        compiled = emit(
            form,
            name=f"run-{'x' * (number % 50)}",
            model=model,
            optimizer=optimizer,
            clipping=clipping,
            schedule=schedule,
            accumulation={"tail": tail, "normalize_by": ("sample", "microbatch")[number % 2]},
            overrides={"tensorflow": {"jit_compile": number % 3 == 0}},
            **scaling,
        )
        (tmp_path / f"{number}").mkdir()
        for path, file in compiled.files.items():
            (tmp_path / f"{number}" / path).write_text(file.text)
    for command in (["check"], ["format", "--diff"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--isolated", "--no-cache", str(tmp_path)]
        done = subprocess.run(ruff, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[:3000]
    assert len(list(tmp_path.glob("*/*.py"))) > 250


def test_the_launcher_is_clean_shell(tmp_path: Path) -> None:
    file = emit().files["launch.sh"]
    assert file.executable
    (tmp_path / "launch.sh").write_text(file.text)
    checks = (["bash", "-n"], [str(Path(sys.executable).with_name("shellcheck"))])
    for check in checks:
        done = subprocess.run([*check, "launch.sh"], cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout.decode()


def codes(**sections: Any) -> set[str]:
    return {found.code for found in emit(**sections).diagnostics}


ONE_STEP = {"batch": {"micro_batch_size": 4, "global_batch_size": 4}}
PLAIN = ONE_STEP | {"optimizer": RATE | {"name": "sgd"}}


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        (PLAIN, set()),
        (PLAIN | {"batch": {"micro_batch_size": 2, "global_batch_size": 4}}, {"CC326"}),
        (PLAIN | {"clipping": CLIPPINGS[1]}, {"CC325"}),
        (PLAIN | {"clipping": CLIPPINGS[3]}, set()),
        (PLAIN | SCALINGS[2], {"CC320"}),
        (PLAIN | SCALINGS[4], {"CC321"}),
        (PLAIN | {"optimizer": OPTIMIZERS[1]}, {"CC323"}),
        (PLAIN | {"optimizer": OPTIMIZERS[3]}, {"CC324"}),
        (PLAIN | {"optimizer": OPTIMIZERS[5]}, {"CC322", "CC323"}),
        (PLAIN | {"optimizer": OPTIMIZERS[6]}, {"CC322"}),
        (PLAIN | {"optimizer": OPTIMIZERS[6], "model": MODELS[2]}, {"CC302", "CC322", "CC329"}),
        (PLAIN | {"model": MODELS[2]}, {"CC302"}),
    ],
)
def test_what_is_said_about_a_recipe(sections: dict[str, Any], expected: set[str]) -> None:
    assert codes(**sections) == expected


@pytest.mark.parametrize(
    ("sections", "code"),
    [
        (
            {
                "distributed": {"strategy": "data_parallel", "processes_per_node": 2},
                "batch": {"micro_batch_size": 4, "global_batch_size": 16},
            },
            "CC327",
        ),
        ({"model": {"kind": "custom", "factory": {"torch": "m:f"}}}, "CC328"),
    ],
)
def test_what_is_refused(sections: dict[str, Any], code: str) -> None:
    with pytest.raises(DiagnosticError) as error:
        emit(**sections)
    errors = {d.code for d in error.value.diagnostics if d.severity is Severity.ERROR}
    assert errors == {code}


def test_codes_and_rows_belong_together() -> None:
    known = {code.code for code in BACKEND.codes}
    used = {row.code for row in BACKEND.rows if row.code and row not in NEUTRAL_ROWS}
    assert known == used
    assert all("CC320" <= code <= "CC339" for code in known)


def test_every_probe_exists() -> None:
    probes = {row.probe for row in BACKEND.rows if row.probe and not row.probe.startswith("none:")}
    assert len(probes) == 8
    for probe in probes:
        file, _, test = probe.partition("::")
        text = (Path(__file__).parents[1] / "probes" / file).read_text("utf-8")
        assert f"def {test}(" in text
