"""The TensorFlow backend without TensorFlow: verdicts, and files as ruff would write them."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from crosscast.emit.compiler import Compiled, compile_recipe
from crosscast.messages.diagnostics import DiagnosticError, Severity
from crosscast.targets.backend import Form
from crosscast.targets.neutral_rows import neutral_rows
from crosscast_tensorflow.target import BACKEND
from frameworks.emitted_script import BFLOAT16, FLOAT16, TINY, tiny_recipe
from tiers import exhaustive

FULL = {"mode": "full", "compute_dtype": "float16"}
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
    {
        "precision": FLOAT16,
        "loss_scaling": DYNAMIC | {"hysteresis": 2, "hysteresis_mode": "cumulative"},
    },
    {"precision": FULL, "loss_scaling": DYNAMIC},
    {"precision": FULL | {"compute_dtype": "bfloat16"}},
)
CLIPPINGS: tuple[dict[str, Any], ...] = (
    {"kind": "none"},
    {"kind": "global_norm", "max_norm": 1.0},
    {"kind": "global_norm", "max_norm": 1.0, "eps": 0.0},
    {"kind": "value", "max_value": 0.5},
    {"kind": "per_param_norm", "max_norm": 1.0},
    {"kind": "per_param_norm", "max_norm": 1.0, "eps": 0.0, "exempt": ["layer_norm"]},
    {"kind": "global_norm", "max_norm": 1.0, "exempt": ["embedding", "layer_norm", "bias"]},
    {"kind": "value", "max_value": 0.5, "exempt": ["bias"]},
)
EVERY_ROLE = ["embedding", "layer_norm", "bias"]
RATE = {"learning_rate": 1e-3}
GROUPS = {
    "groups": [
        {"parameters": ["bert.embeddings.*"], "rate_factor": 0.5},
        {"parameters": [f"bert.encoder.layer.{n}.*" for n in range(4)], "weight_decay": 0.1},
        {"parameters": ["x" * 90, "classifier.*"], "rate_factor": 10.0, "weight_decay": 0.0},
    ]
}
BEFORE = {"eps_placement": "before_correction"}
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
    RATE | GROUPS | {"name": "sgd"},
    RATE | GROUPS | {"name": "sgd", "momentum": 0.9, "weight_decay": 0.1, "no_decay": ["bias"]},
    RATE | {"name": "sgd", "momentum": 0.9, "rate_in_momentum": True},
    RATE | {"name": "sgd", "momentum": 0.9, "rate_in_momentum": True, "weight_decay": 0.1},
    RATE | BEFORE | {"name": "adam", "bias_correction": False},
    RATE | BEFORE | GROUPS | {"name": "adamw"},
    RATE | GROUPS | {"name": "lamb"},
    RATE | {"name": "lamb", "always_adapt": False, "bias_correction": False},
    RATE | {"name": "lamb", "weight_decay": 0.0, "always_adapt": False},
    RATE | {"name": "lion"},
    RATE | {"name": "lion", "weight_decay": 0.1, "no_decay": ["bias", "layer_norm"]},
    RATE | GROUPS | {"name": "lion", "weight_decay": 0.1},
    RATE | {"name": "adafactor"},
    RATE | GROUPS | {"name": "adafactor", "weight_decay": 0.1, "no_decay": ["bias"]},
)
SCHEDULES: tuple[dict[str, Any], ...] = (
    {"name": "constant", "total_steps": 5},
    {"name": "linear", "total_steps": 5, "warmup_steps": 2, "tick": "attempt"},
    {"name": "cosine", "total_steps": 5},
    {"name": "polynomial", "total_steps": 5, "power": 2.0, "decay_from": "start"},
    {"name": "inverse_sqrt", "total_steps": 5, "warmup_steps": 2},
)
TAILS = ("flush_renormalized", "flush", "drop", "carry")
FORMS: tuple[Form, ...] = ("script", "step")
TARGETS = ("tensorflow", "tensorflow@2.15", "tensorflow@graph-rewrite")
COMPUTE = dict.fromkeys(("pointwise", "reductions", "embeddings", "losses"), "compute")


def emit(form: Form = "script", target: str = "tensorflow", **sections: Any) -> Compiled:
    (compiled,) = compile_recipe(tiny_recipe(**sections), [target], form=form)
    return compiled


def assert_clean(folder: Path) -> None:
    """Check that ruff with its own settings would change nothing."""
    for command in (["check"], ["format", "--diff"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--isolated", "--no-cache", str(folder)]
        done = subprocess.run(ruff, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[:3000]


@exhaustive("more recipes; `make test` has test_emitted_style")
def test_files_are_what_ruff_would_write(tmp_path: Path) -> None:
    combinations = itertools.product(
        FORMS, TAILS, SCHEDULES, OPTIMIZERS, CLIPPINGS, SCALINGS, MODELS
    )
    # A step that shares no factor with the sizes meets every pair of values.
    chosen = list(itertools.islice(combinations, 0, None, 773))
    for number, (form, tail, schedule, optimizer, clipping, scaling, model) in enumerate(chosen):
        target = TARGETS[number % 5 % 3]
        unit = ("sample", "microbatch", "token")[number % (2 if tail == "flush" else 3)]
        compiled = emit(
            form,
            name=f"run-{'x' * (number % 50)}",
            model=model,
            optimizer=optimizer,
            clipping=clipping,
            schedule=schedule,
            accumulation={"tail": tail, "normalize_by": unit},
            overrides={"tensorflow": {"jit_compile": number % 3 == 0}},
            **(scaling if target != TARGETS[2] else SCALINGS[2]),
            target=target,
            ema={"decay": 0.9} if number % 4 == 0 else {},
        )
        (tmp_path / f"{number}" / "runtime").mkdir(parents=True)
        for path, file in compiled.files.items():
            (tmp_path / f"{number}" / path).write_text(file.text)
    assert_clean(tmp_path)
    assert len(list(tmp_path.glob("*/*.py"))) > 250


def test_the_launcher_is_clean_shell(tmp_path: Path) -> None:
    file = emit().files["launch.sh"]
    assert file.executable
    (tmp_path / "launch.sh").write_text(file.text)
    checks = (["bash", "-n"], [str(Path(sys.executable).with_name("shellcheck"))])
    for check in checks:
        done = subprocess.run([*check, "launch.sh"], cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout.decode()


OPS = ("matmul", "pointwise", "reductions", "embeddings", "losses")


@exhaustive("more recipes; `make test` has test_emitted_style")
def test_models_are_what_ruff_would_write(tmp_path: Path) -> None:
    number = 0
    for chosen in itertools.product(("compute", "float32"), repeat=len(OPS)):
        types = {"ops": dict(zip(OPS, chosen, strict=True))}
        for precision in (FLOAT16, BFLOAT16, FULL):
            if precision is FULL and types["ops"]["matmul"] == "float32":
                continue
            dropout = 0.1 * (number % 2)
            compiled = emit(
                target=TARGETS[number % 3 % 2],
                precision=precision | types,
                model=BERT | {"dropout": dropout},
                activation_checkpointing=bool(number // 2 % 2),
            )
            (tmp_path / f"{number}" / "runtime").mkdir(parents=True)
            for path, file in compiled.files.items():
                (tmp_path / f"{number}" / path).write_text(file.text)
            number += 1
    assert_clean(tmp_path)
    assert number == 80


OWN_LOSS = {"kind": "custom", "function": {"tensorflow": "losses:of_rows"}}
LOSSES: dict[str, tuple[dict[str, Any], ...]] = {
    "microbatch": (
        {"kind": "cross_entropy", "class_weights": [0.5, 1.0, 2.0]},
        {"kind": "binary_cross_entropy"},
        {"kind": "mse", "target": "y"},
        OWN_LOSS,
    ),
    "token": (
        {"kind": "cross_entropy", "label_smoothing": 0.1},
        {"kind": "cross_entropy", "class_weights": [0.5, 1.0, 2.0], "target": "marks"},
        OWN_LOSS | {"target": "marks"},
    ),
}
LOSSES["sample"] = (*LOSSES["microbatch"], LOSSES["token"][0])


def test_losses_are_what_ruff_would_write(tmp_path: Path) -> None:
    each = [(unit, loss) for unit in LOSSES for loss in LOSSES[unit]]
    for number, (unit, loss) in enumerate(each):
        target = TARGETS[number % 3]
        compiled = emit(
            "script",
            target,
            loss=loss,
            model=MODELS[2],
            accumulation={"normalize_by": unit},
            **(SCALINGS[2] if target == TARGETS[2] else {}),
        )
        (tmp_path / f"{number}" / "runtime").mkdir(parents=True)
        for path, file in compiled.files.items():
            (tmp_path / f"{number}" / path).write_text(file.text)
    assert_clean(tmp_path)


def codes(**sections: Any) -> set[str]:
    return {found.code for found in emit(**sections).diagnostics}


ONE_STEP = {"batch": {"micro_batch_size": 4, "global_batch_size": 4}}
TWO = {
    "distributed": {"strategy": "data_parallel", "processes_per_node": 2},
    "batch": {"micro_batch_size": 2, "global_batch_size": 4},
}
PLAIN = ONE_STEP | {"optimizer": RATE | {"name": "sgd"}}
RECOMPUTED = {"activation_checkpointing": True}


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
        (PLAIN | RECOMPUTED, set()),
        (PLAIN | RECOMPUTED | {"model": MODELS[1]}, {"CC373"}),
        (PLAIN | {"model": MODELS[1]}, set()),
        (PLAIN | TWO, {"CC304", "CC327"}),
        (PLAIN | TWO | {"model": MODELS[2]}, {"CC302", "CC304", "CC327", "CC380"}),
    ],
)
def test_what_is_said_about_a_recipe(sections: dict[str, Any], expected: set[str]) -> None:
    assert codes(**sections) == expected


@pytest.mark.parametrize(
    ("sections", "code"), [({"model": {"kind": "custom", "factory": {"torch": "m:f"}}}, "CC305")]
)
def test_what_is_refused(sections: dict[str, Any], code: str) -> None:
    with pytest.raises(DiagnosticError) as error:
        emit(**sections)
    errors = {d.code for d in error.value.diagnostics if d.severity is Severity.ERROR}
    assert errors == {code}


def test_codes_and_rows_belong_together() -> None:
    known = {code.code for code in BACKEND.codes}
    used = {row.code for row in BACKEND.rows if row.code and row not in neutral_rows("tensorflow")}
    assert known == used
    owned = ("CC32", "CC33", "CC368", "CC37", "CC38", "CC398")
    assert all(code.startswith(owned) for code in known)


def test_every_probe_exists() -> None:
    probes = {row.probe for row in BACKEND.rows if row.probe and not row.probe.startswith("none:")}
    assert len(probes) > 20
    for probe in probes:
        file, _, test = probe.partition("::")
        folder = Path(__file__).parents[1]
        place = folder if file.startswith(("unit/", "frameworks/")) else folder / "probes"
        assert f"def {test}(" in (place / file).read_text("utf-8")
