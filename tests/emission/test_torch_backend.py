"""The PyTorch backend without PyTorch: dialects, verdicts, and whole files of the older APIs."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from crosscast.emit.compiler import Compiled, compile_recipe
from crosscast.messages.diagnostics import DiagnosticError, Severity
from crosscast.targets.backend import Form, find_target
from crosscast.targets.capability import Evidence
from emission import goldens
from frameworks.emitted_script import BFLOAT16, FLOAT16, TINY, tiny_recipe
from tiers import exhaustive

DYNAMIC = {"mode": "dynamic", "init_scale": 2.0**14, "growth_interval": 100}
NORM = {"kind": "global_norm", "max_norm": 1.0}
TWO = {"distributed": {"strategy": "data_parallel", "processes_per_node": 2}}
UNBOUNDED: dict[str, Any] = {
    "precision": FLOAT16,
    "loss_scaling": {"mode": "dynamic", "min_scale": None},
}
FUSED = {"precision": FLOAT16, "optimizer": {"name": "sgd", "learning_rate": 0.1, "momentum": 0.9}}
# Names that came after PyTorch 1.6, or went with 2.4.
NEWER = (
    "torch.amp",
    "torch.autocast",
    "torch.inference_mode",
    "torch.linalg",
    "torch.compile",
    "set_float32_matmul_precision",
    "set_to_none",
    "zero_grad",
    "unflatten",
    "RMSNorm",
    "fused=",
    "--nproc-per-node",
)


def emit(target: str, form: Form = "script", **sections: Any) -> Compiled:
    (compiled,) = compile_recipe(tiny_recipe(**sections), [target], form=form)
    return compiled


def codes(target: str, **sections: Any) -> set[str]:
    return {found.code for found in emit(target, **sections).diagnostics}


@pytest.mark.parametrize(
    ("version", "dialect"),
    [
        ("2.13", "torch.amp"),
        ("2.4.0", "torch.amp"),
        ("2.3.1", "torch.cuda.amp"),
        ("1.11", "torch.cuda.amp"),
        ("1.10.2", "torch.cuda.amp-1.6"),
        ("1.6", "torch.cuda.amp-1.6"),
    ],
)
def test_a_version_has_its_dialect(version: str, dialect: str) -> None:
    assert find_target(f"torch@{version}").dialect.name == dialect


def test_amp_began_with_1_6() -> None:
    with pytest.raises(DiagnosticError) as caught:
        find_target("torch@1.5")
    assert [found.code for found in caught.value.diagnostics] == ["CC108"]


@pytest.mark.parametrize("target", ["torch@2.3", "torch@1.6"])
@pytest.mark.parametrize("form", ["script", "step"])
def test_older_scripts_use_nothing_newer(target: str, form: Form) -> None:
    for sections in ({"precision": FLOAT16}, {"precision": {"tf32": True}}, FULL, TWO, FUSED):
        files = emit(target, form, **sections).files
        text = "\n".join(file.text for file in files.values())
        assert [name for name in NEWER if name in text] == [], sections


def test_only_bfloat16_needs_a_type() -> None:
    half = emit("torch@2.1", precision=FLOAT16).files["train.py"].text
    assert half.count("torch.cuda.amp.autocast():") == 2
    half = emit("torch@2.1", precision=BFLOAT16).files["train.py"].text
    assert half.count("torch.cuda.amp.autocast(dtype=torch.bfloat16):") == 2
    with pytest.raises(DiagnosticError) as caught:
        emit("torch@1.9", precision=BFLOAT16)
    assert "CC318" in {found.code for found in caught.value.diagnostics}


@pytest.mark.parametrize(
    ("sections", "now", "before"),
    [
        ({}, set(), set()),
        ({"precision": {"tf32": True}}, set(), set()),
        ({"precision": FLOAT16}, {"CC310"}, {"CC310", "CC316", "CC317"}),
        (UNBOUNDED, set(), {"CC316", "CC317"}),
        ({"precision": BFLOAT16}, set(), {"CC316"}),
        (FUSED, {"CC310", "CC315"}, {"CC310", "CC316", "CC317"}),
    ],
)
def test_what_is_said(sections: dict[str, Any], now: set[str], before: set[str]) -> None:
    assert codes("torch", **sections) == now
    assert codes("torch@2.1", **sections) == before


def test_a_scale_without_bounds_is_left_to_the_scaler() -> None:
    new, old = (
        emit(target, **UNBOUNDED).files["train.py"].text for target in ("torch", "torch@2.1")
    )
    assert "_SCALE =" not in new.replace("INIT_SCALE =", "")
    assert new.count("scaler.update(") == 1
    assert old.count("scaler.update(") == 2  # and once where it has grown to inf
    assert 'scale=(0.0, float("inf"))' in new
    highest: dict[str, Any] = UNBOUNDED | {
        "loss_scaling": {"mode": "dynamic", "min_scale": None, "max_scale": 2e5}
    }
    text = emit("torch", **highest).files["train.py"].text
    assert "    if new_scale > MAX_SCALE:\n        state.scaler.update(MAX_SCALE)\n" in text


def test_what_needs_a_gpu_of_the_past_was_read_and_not_measured() -> None:
    for judgement in emit("torch@2.1", precision=FLOAT16).judgements:
        if judgement.path.startswith("loss_scaling.growth_factor"):
            assert judgement.row.evidence is Evidence.DOCUMENTED


def test_older_versions_are_not_compiled() -> None:
    overrides: dict[str, Any] = {"overrides": {"torch": {"compile": True}}}
    emit("torch", **overrides)
    with pytest.raises(DiagnosticError) as caught:
        emit("torch@2.3", **overrides)
    (found,) = caught.value.diagnostics
    assert (found.code, found.path) == ("CC208", "overrides.torch.compile")


def test_a_step_compiles_nothing() -> None:
    overrides: dict[str, Any] = {"overrides": {"torch": {"compile": True}}}
    assert "model.compile()" in emit("torch", **overrides).files["train.py"].text
    for target, code in (("torch", "CC212"), ("torch@2.3", "CC208")):
        with pytest.raises(DiagnosticError) as caught:
            emit(target, "step", **overrides)
        (found,) = caught.value.diagnostics
        assert (found.code, found.path) == (code, "overrides.torch.compile")
    emit("torch", "step", overrides={"torch": {"compile": False}})


FULL = {"precision": FLOAT16 | {"mode": "full"}}
CUSTOM = {"model": {"kind": "custom", "factory": {"torch": "m:f"}}}


def hows(target: str, **sections: Any) -> dict[str, tuple[str, str]]:
    """Code and text by path, of what is said about precision."""
    return {
        judgement.path.removeprefix("precision."): (judgement.row.code, judgement.row.how)
        for judgement in emit(target, **sections).judgements
        if judgement.path.startswith(("precision.", "accumulation.dtype"))
    }


@pytest.mark.parametrize("target", ["torch", "torch@2.1"])
@pytest.mark.parametrize("model", [{}, CUSTOM], ids=["bert", "custom"])
def test_half_weights_have_masters_and_say_so(target: str, model: dict[str, Any]) -> None:
    hows_of_paths = hows(target, **FULL, **model)
    assert hows_of_paths["mode"][0] == "CC364"
    assert "masters" in hows_of_paths["mode"][1]
    assert "masters" in hows_of_paths["param_dtype"][1]
    assert hows_of_paths["accumulation.dtype"][0] == "CC364"
    assert "CC316" in codes(target, **FULL, **model) or target == "torch"
    for _, how in hows_of_paths.values():
        assert "around the forward pass" not in how
        assert "float32 parameters" not in how
    halves = hows(target, **FULL, **model, accumulation={"dtype": "compute"})
    assert halves["mode"][0] == "CC364"
    assert halves["accumulation.dtype"][0] == ""  # .grad sums in the type of the weights


def test_what_is_said_of_types_is_what_is_emitted() -> None:
    written = {"precision": FLOAT16 | {"ops": {"reductions": "compute"}}}
    for sections, autocast in (({}, False), ({"precision": FLOAT16}, True), (written, False)):
        hows_of_paths = hows("torch", **sections)
        text = emit("torch", **sections).files["train.py"].text
        assert ("torch.autocast(" in text) == autocast
        for path in ("mode", "compute_dtype", "ops.matmul", "ops.reductions"):
            assert ("autocast" in hows_of_paths[path][1]) == autocast, (path, sections)
            assert ("written out" in hows_of_paths[path][1]) == (sections is written), (
                path,
                sections,
            )


def test_checkpointing_is_refused_for_one_reason() -> None:
    with pytest.raises(DiagnosticError) as caught:
        emit("torch@1.8", activation_checkpointing=True)
    (message,) = (d.message for d in caught.value.diagnostics if d.code == "CC319")
    (code,) = (
        diagnostic
        for diagnostic in find_target("torch").backend.codes
        if diagnostic.code == "CC319"
    )
    reason = "torch.utils.checkpoint has no use_reentrant=False"
    assert reason in message
    assert reason in code.help


@pytest.mark.parametrize("half", [FLOAT16, BFLOAT16], ids=["float16", "bfloat16"])
@pytest.mark.parametrize("reductions", ["float32", "compute"])
def test_padding_is_hidden_by_what_the_type_holds(half: dict[str, Any], reductions: str) -> None:
    precision = half | {"ops": {"reductions": reductions, "pointwise": "compute"}}
    text = emit("torch", precision=precision).files["model.py"].text
    narrow = half is FLOAT16 and reductions == "compute"
    assert text.count("* -1e4\n") == narrow
    assert text.count("* -1e9\n") == (not narrow)


def test_a_parallel_step_says_when_weights_are_shared() -> None:
    text = emit("torch", "step", **FULL, **TWO).files["step.py"].text
    assert text.index("init_process_group()") < text.index("make_optimizer(model)")
    assert "torch.distributed.broadcast(" in text
    assert "broadcast(" not in emit("torch", "step", **FULL).files["step.py"].text
    plain = emit("torch", "step", precision=FLOAT16, **TWO).files["step.py"].text
    assert "broadcast(" not in plain  # DistributedDataParallel does it


@pytest.mark.parametrize(
    ("target", "name", "sections"),
    [
        (
            "torch",
            "stored-half",
            {"version": 2, "precision": BFLOAT16, "model": TINY["model"] | {"dropout": 0.1}},
        ),
        ("torch@2.1", "stored-half", {"version": 2, "precision": FLOAT16}),
        ("torch@2.1", "float32", {}),
        ("torch@2.1", "two-processes", {"precision": FLOAT16, "loss_scaling": DYNAMIC, **TWO}),
        ("torch@1.8", "float16", {"precision": FLOAT16, "loss_scaling": DYNAMIC, "clipping": NORM}),
    ],
)
def test_whole_files(target: str, name: str, sections: dict[str, Any]) -> None:
    goldens.check(emit(target, **sections), f"{target.replace('@', '-')}-{name}")


RATE = {"learning_rate": 1e-3}
LONG_NAMES = ["bert.encoder.layer.[0-5].attention.output.dense.*", "bert.embeddings.*_embeddings.*"]
GROUPS = {
    "groups": [
        {"parameters": LONG_NAMES, "weight_decay": 0.0, "rate_factor": 0.1},
        {"parameters": ["classifier.*"], "rate_factor": 10.0},
    ]
}
ONE_GROUP = {"groups": [{"parameters": ["*.bias"], "weight_decay": 0.25}]}
EVERY_ROLE = ["embedding", "layer_norm", "bias"]
RAW = {"bias_correction": False}
OPTIMIZERS: tuple[dict[str, Any], ...] = (
    RATE | {"name": "sgd", "momentum": 0.9, "rate_in_momentum": True},
    RATE | {"name": "sgd", "momentum": 0.9, "rate_in_momentum": True, "nesterov": True} | GROUPS,
    RATE | {"name": "adamw"} | GROUPS,
    RATE | {"name": "adamw", "eps_placement": "before_correction"} | ONE_GROUP,
    RATE | {"name": "adamw", "no_decay": EVERY_ROLE} | RAW,
    RATE | {"name": "adam", "no_decay": ["bias"], "weight_decay": 0.1} | RAW | GROUPS,
    RATE | {"name": "adam"} | ONE_GROUP,
    RATE | {"name": "lamb"},
    RATE | {"name": "lamb", "always_adapt": False} | RAW | GROUPS,
    RATE | {"name": "lion", "weight_decay": 0.1},
    RATE | {"name": "adafactor"},
    RATE | {"name": "adafactor", "no_decay": ["layer_norm"], "weight_decay": 0.1} | ONE_GROUP,
)
CLIPPINGS: tuple[dict[str, Any], ...] = (
    {"kind": "none"},
    NORM | {"exempt": ["bias"]},
    NORM | {"exempt": EVERY_ROLE, "eps": 0.0},
    {"kind": "per_param_norm", "max_norm": 1.0},
    {"kind": "per_param_norm", "max_norm": 1.0, "eps": 0.0, "exempt": ["layer_norm"]},
    {"kind": "per_param_norm", "max_norm": 1.0, "eps": 1e-3},
    {"kind": "value", "max_value": 0.5, "exempt": ["embedding", "layer_norm"]},
)
COMPUTE = dict.fromkeys(("pointwise", "reductions", "embeddings", "losses"), "compute")
CUMULATIVE = {"hysteresis": 2, "hysteresis_mode": "cumulative", "max_scale": 2.0**20}
PRECISIONS: tuple[dict[str, Any], ...] = (
    {},
    {"precision": FLOAT16, "loss_scaling": DYNAMIC},
    {"precision": FLOAT16 | {"ops": COMPUTE}, "loss_scaling": DYNAMIC | CUMULATIVE},
    {"precision": BFLOAT16 | {"ops": {"matmul": "float32", "pointwise": "compute"}}},
    {"precision": FLOAT16 | {"mode": "full"}, "loss_scaling": {"mode": "static", "scale": 8.0}},
    {"precision": BFLOAT16 | {"mode": "full"}, "accumulation": {"dtype": "compute"}},
    {"precision": FLOAT16 | {"mode": "full", "ops": {"losses": "compute"}}, **TWO},
)
SCHEDULES: tuple[dict[str, Any], ...] = (
    {"name": "polynomial", "total_steps": 20, "power": 2.0, "decay_from": "start"},
    {"name": "inverse_sqrt", "total_steps": 20, "warmup_steps": 3},
    {"name": "linear", "total_steps": 20, "warmup_steps": 3, "decay_from": "start"},
)
EXTRAS: tuple[dict[str, Any], ...] = (
    {},
    {"ema": {"decay": 0.999}},
    {"ema": {"decay": 0.999}, "activation_checkpointing": True},
)
MODELS: tuple[dict[str, Any], ...] = (
    {},
    {"model": TINY["model"] | {"dropout": 0.1}},
    {"model": {"kind": "custom", "factory": {"torch": "m:f"}}},
)


@exhaustive("more recipes; `make test` has test_emitted_style")
def test_files_are_what_ruff_would_write(tmp_path: Path) -> None:
    targets = itertools.cycle(("torch", "torch@2.1", "torch@1.8"))
    forms: itertools.cycle[Form] = itertools.cycle(("script", "script", "step"))
    combinations = itertools.product(EXTRAS, MODELS, SCHEDULES, PRECISIONS, CLIPPINGS, OPTIMIZERS)
    # 15,876 in all; a step that shares no factor with the sizes meets every pair of values.
    refused: Counter[str] = Counter()
    for number, chosen in enumerate(itertools.islice(combinations, 0, None, 95)):
        extras, model, schedule, precision, clipping, optimizer = chosen
        sections = {"schedule": schedule, "clipping": clipping, "optimizer": optimizer}
        sections |= {**extras, **model, **precision}
        if number % 5 == 0:
            unit = {"normalize_by": "token", "tail": "carry"}
            sections["accumulation"] = sections.get("accumulation", {}) | unit
        try:
            compiled = emit(next(targets), next(forms), **sections)
        except DiagnosticError as error:
            refused.update(d.code for d in error.diagnostics if d.severity is Severity.ERROR)
            continue
        for path, file in compiled.files.items():
            place = tmp_path / f"{number}" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(file.text)
    assert refused.keys() <= {"CC210", "CC211", "CC212", "CC318", "CC319"}, refused
    for command in (["check"], ["format", "--diff"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--isolated", "--no-cache", str(tmp_path)]
        done = subprocess.run(ruff, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[:5000]
    assert len(list(tmp_path.glob("*/*.py"))) > 150
