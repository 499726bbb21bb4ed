"""What is emitted for static graphs of fleet, and what they cannot express."""

from __future__ import annotations

import ast
import itertools
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from crosscast.emit.compiler import compile_recipe
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.messages.output import write_files
from crosscast.plan.order import verify
from crosscast.targets.capability import Verdict
from crosscast_paddle.target import BACKEND
from crosscast_paddle.target.fleet_rows import FLEET_ROWS
from emission import goldens
from frameworks.emitted_script import BFLOAT16, FLOAT16, TINY, tiny_recipe
from runtime_texts import settings_of
from tiers import exhaustive

NONE = {"mode": "none"}
DYNAMIC = {
    "mode": "dynamic",
    "hysteresis": 2,
    "hysteresis_mode": "cumulative",
    "max_scale": 2.0**20,
}
PRECISIONS: list[dict[str, Any]] = [
    {},
    {"precision": FLOAT16, "loss_scaling": NONE},
    {"precision": FLOAT16 | {"tf32": True}, "loss_scaling": DYNAMIC},
    {"precision": FLOAT16, "loss_scaling": {"mode": "static", "scale": 1e30}},
]
CLIPPINGS: list[dict[str, Any]] = [
    {"kind": "none"},
    {"kind": "value", "max_value": 0.5},
    {"kind": "global_norm", "max_norm": 1.0},
    {"kind": "global_norm", "max_norm": 1.0, "eps": 0.0},
]
ADAMW = {"name": "adamw", "learning_rate": 1e-3}
SGD = {"name": "sgd", "learning_rate": 0.1}
OPTIMIZERS: list[dict[str, Any]] = [
    ADAMW,
    ADAMW | {"weight_decay": 0.0},
    ADAMW | {"no_decay": ["bias", "layer_norm", "embedding"]},
    {"name": "adam", "learning_rate": 1e-3, "weight_decay": 0.1},
    SGD,
    SGD | {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
]
REST: list[dict[str, Any]] = [
    {"schedule": {"name": "linear", "total_steps": 9, "warmup_steps": 3, "tick": "attempt"}},
    {
        "schedule": {"name": "inverse_sqrt", "total_steps": 9, "warmup_steps": 3},
        "accumulation": {"steps": 1, "normalize_by": "token"},
        "batch": {"micro_batch_size": 4},
    },
    {
        "schedule": {"name": "constant", "total_steps": 9},
        "accumulation": {"steps": 4, "normalize_by": "sample", "tail": "flush"},
        "model": TINY["model"] | {"dropout": 0.1},
    },
    {
        "schedule": {"name": "cosine", "total_steps": 9},
        "accumulation": {"steps": 4, "normalize_by": "microbatch", "tail": "carry"},
        "data": {"source": "synthetic", "sequence_length": 9},
    },
]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("fleet")
    rest = itertools.cycle(REST)
    emitted = 0
    for number, (precision, clipping, optimizer) in enumerate(
        itertools.product(PRECISIONS, CLIPPINGS, OPTIMIZERS)
    ):
        recipe = tiny_recipe(**precision, clipping=clipping, optimizer=optimizer, **next(rest))
        coasts = optimizer.get("momentum") and recipe.scaling_on
        if coasts:
            with pytest.raises(DiagnosticError, match="CC390"):
                compile_recipe(recipe, ["paddle@fleet"])
            continue
        (compiled,) = compile_recipe(recipe, ["paddle@fleet"])
        assert not verify(compiled.plan)
        write_files(root / f"{number:02}", compiled.files, manifest=False)
        emitted += 1
    assert emitted > 80
    return root


def test_ruff_finds_nothing(tree: Path) -> None:
    ruff = (sys.executable, "-m", "ruff")
    for command in (("check",), ("format", "--check")):
        done = subprocess.run(
            [*ruff, *command, "--isolated", "--no-cache", tree],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


@exhaustive("more recipes; `make test` has test_emitted_style")
def test_scripts_are_whole_and_tidy(tree: Path) -> None:
    contract = {"micro_batch_loss", "train_window", "evaluate", "make_state", "train", "main"}
    for path in tree.rglob("train.py"):
        text = path.read_text()
        compile(text, str(path), "exec", dont_inherit=True)
        functions = {
            node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)
        }
        assert contract <= functions
        assert "crosscast_" not in text
        assert text.isascii()
        assert not re.search(r"[ \t]+$|\n\n\n\n", text, re.MULTILINE), path
        assert [line for line in text.splitlines() if len(line) > 88] == []
        defined = re.findall(r"^(?:def |class )?([A-Za-z_]\w*)(?=\(| = |\:$)", text, re.MULTILINE)
        unused = {name for name in defined if len(re.findall(rf"\b{name}\b", text)) == 1}
        assert not unused, (path, unused)
        rows = path.with_name("runtime") / "rows.py"
        assert "\ndef row_numbers(" in rows.read_text()


def test_golden_files() -> None:
    (compiled,) = compile_recipe(tiny_recipe(precision=FLOAT16), ["paddle@fleet"])
    goldens.check(compiled, "paddle-fleet-float16")


def test_requirements_stay_with_paddle_2(tree: Path) -> None:
    text = next(tree.rglob("requirements.txt")).read_text()
    assert "paddlepaddle>=2.6,<3" in text
    assert "protobuf<7" in text


def test_a_script_without_windows_of_several_micro_batches_merges_nothing() -> None:
    plain = tiny_recipe(batch={"micro_batch_size": 4}, accumulation={"steps": 1})
    (compiled,) = compile_recipe(plain, ["paddle@fleet"])
    text = compiled.files["train.py"].text
    assert "gradient_merge" not in text
    assert "amp" not in text
    assert compiled.diagnostics == ()


@pytest.mark.parametrize(
    ("sections", "code", "path"),
    [
        ({"precision": BFLOAT16}, "CC389", "precision"),
        ({"precision": FLOAT16 | {"mode": "full"}}, "CC389", "precision"),
        ({"precision": FLOAT16 | {"ops": {"pointwise": "compute"}}}, "CC389", "precision"),
        ({"version": 2, "precision": FLOAT16}, "CC389", "precision"),
        ({"version": 2, "precision": BFLOAT16}, "CC389", "precision"),
        ({"model": {"kind": "custom", "factory": {"paddle": "m:f"}}}, "CC388", "model"),
        ({"model": TINY["model"] | {"layer_norm_eps": 0.01}}, "CC346", "model.layer_norm_eps"),
        ({"clipping": {"kind": "per_param_norm", "max_norm": 1.0}}, "CC394", "clipping"),
        (
            {"clipping": {"kind": "value", "max_value": 1.0, "exempt": ["bias"]}},
            "CC394",
            "clipping",
        ),
        ({"optimizer": {"name": "lamb", "learning_rate": 0.1}}, "CC395", "optimizer"),
        ({"optimizer": ADAMW | {"bias_correction": False}}, "CC395", "optimizer"),
        ({"optimizer": ADAMW | {"eps_placement": "before_correction"}}, "CC395", "optimizer"),
        ({"optimizer": SGD | {"momentum": 0.5, "rate_in_momentum": True}}, "CC395", "optimizer"),
        (
            {"optimizer": ADAMW | {"groups": [{"parameters": ["a*"], "rate_factor": 2.0}]}},
            "CC395",
            "optimizer.groups",
        ),
        (
            {"optimizer": SGD | {"weight_decay": 0.1, "no_decay": ["bias"]}},
            "CC395",
            "optimizer.no_decay",
        ),
        ({"optimizer": SGD | {"weight_decay": 0.1}, "precision": FLOAT16}, "CC390", "optimizer"),
        ({"optimizer": SGD | {"momentum": 0.1}, "precision": FLOAT16}, "CC390", "optimizer"),
        ({"loss": {"kind": "cross_entropy", "label_smoothing": 0.1}}, "CC386", "loss"),
        ({"loss": {"kind": "cross_entropy", "class_weights": [0.5, 1.0, 2.0]}}, "CC386", "loss"),
        ({"ema": {"decay": 0.9}}, "CC386", "ema.decay"),
        ({"activation_checkpointing": True}, "CC386", "activation_checkpointing"),
        (
            {
                "distributed": {"strategy": "data_parallel", "processes_per_node": 2},
                "batch": {"micro_batch_size": 4, "global_batch_size": 16},
            },
            "CC386",
            "distributed",
        ),
    ],
)
def test_what_it_cannot_express_is_refused(sections: dict[str, Any], code: str, path: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        compile_recipe(tiny_recipe(**sections), ["paddle@fleet"])
    errors = {
        (diagnostic.code, diagnostic.path)
        for diagnostic in caught.value.diagnostics
        if diagnostic.severity == "error"
    }
    assert errors == {(code, path)}


def test_what_it_stores_in_float32_is_said_by_a_policy() -> None:
    with pytest.raises(DiagnosticError, match=r"write precision\.policy: float32_stream"):
        compile_recipe(tiny_recipe(version=2, precision=FLOAT16), ["paddle@fleet"])
    said = FLOAT16 | {"policy": "float32_stream"}
    explicit = {"model": TINY["model"] | {"attention": "explicit"}}
    texts = []
    for sections in ({"precision": FLOAT16}, {"version": 2, "precision": said, **explicit}):
        (compiled,) = compile_recipe(tiny_recipe(**sections), ["paddle@fleet"])
        texts.append({path: file.text for path, file in compiled.files.items()})
    assert texts[0] == texts[1]


def test_fused_attention_is_written_out() -> None:
    (compiled,) = compile_recipe(tiny_recipe(version=2), ["paddle@fleet"])
    (found,) = (each for each in compiled.diagnostics if each.code == "CC369")
    assert found.path == "model.attention"
    assert "write model.attention: explicit" in found.message
    assert "scaled_dot_product_attention" not in compiled.files["model.py"].text


@pytest.mark.parametrize("path", ["$(touch x)", "'; import os #", '"""', "a\\", "{{ 7 * 7 }}"])
def test_paths_of_the_recipe_are_constants(path: str) -> None:
    data = {"source": "npz", "train": path, "eval": path, "sequence_length": 8}
    (compiled,) = compile_recipe(tiny_recipe(data=data), ["paddle@fleet"])
    told = settings_of({path: file.text for path, file in compiled.files.items()})
    assert told.train == told.eval == path
    assert path not in compiled.files["launch.sh"].text


def test_there_is_no_step() -> None:
    with pytest.raises(DiagnosticError, match="CC386"):
        compile_recipe(tiny_recipe(), ["paddle@fleet"], form="step")


def test_rows_are_of_fleet_alone_and_every_code_is_known() -> None:
    known = {code.code for code in BACKEND.codes}
    for row in FLEET_ROWS:
        assert row.dialects == {"fleet"}
        assert row.verdict is Verdict.EXACT or row.code in known
