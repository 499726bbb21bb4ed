"""Keras models whose operations store half: files, and what is said about them."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from crosscast.emit.compiler import Compiled, compile_recipe
from crosscast.messages.diagnostics import DiagnosticError, Severity
from emission import goldens
from frameworks.emitted_script import BFLOAT16, FLOAT16, TINY, tiny_recipe
from tiers import cases

BERT: dict[str, Any] = TINY["model"]
DROPOUT = BERT | {"dropout": 0.1}
SGD = {"name": "sgd", "learning_rate": 0.1}
ONE = {"micro_batch_size": 4, "global_batch_size": 4}
FULL = {"mode": "full", "compute_dtype": "bfloat16"}
TARGETS = ("tensorflow", "tensorflow@2.15")
REWRITE = "tensorflow@graph-rewrite"
CLASSES = ("matmul", "pointwise", "reductions", "embeddings", "losses", "residual")
STORED = ("half", "float32", "float32_stored_half")
VALUES = (*itertools.repeat(STORED, 5), ("half", "float32"))


def compiled(target: str, **sections: Any) -> Compiled:
    (found,) = compile_recipe(tiny_recipe(**{"version": 2} | sections), [target])
    return found


def said(target: str, **sections: Any) -> set[str]:
    plain = {"optimizer": SGD, "batch": ONE}
    return {found.code for found in compiled(target, **plain, **sections).diagnostics}


def test_golden_stored_half() -> None:
    goldens.check(
        compiled("tensorflow", model=DROPOUT, precision=BFLOAT16), "tensorflow-stored-half"
    )


def test_golden_every_float32_result_is_rounded() -> None:
    ops = dict.fromkeys(CLASSES, "float32_stored_half") | {"residual": "float32"}
    found = compiled(
        "tensorflow@2.15",
        model=DROPOUT | {"attention": "explicit"},
        precision=FLOAT16 | {"ops": ops},
        activation_checkpointing=True,
    )
    goldens.check(found, "tensorflow-2.15-every-result-rounded")


@pytest.mark.parametrize("stride", cases([1, 29], quick=[29], reason="every combination of types"))
def test_files_are_what_ruff_would_write(tmp_path: Path, stride: int) -> None:
    precisions = (FLOAT16, BFLOAT16, FULL)
    kinds = list(itertools.product(*VALUES))[::stride]
    for number, (chosen, attention) in enumerate(itertools.product(kinds, ("fused", "explicit"))):
        precision = precisions[number % 3]
        if precision is FULL and chosen[0] != "half":
            continue
        found = compiled(
            TARGETS[number % 2],
            model=BERT | {"dropout": 0.1 * (number // 2 % 2), "attention": attention},
            precision=precision | {"ops": dict(zip(CLASSES, chosen, strict=True))},
            activation_checkpointing=number % 5 == 0,
        )
        folder = tmp_path / str(number)
        folder.mkdir()
        for name in ("model.py", "train.py"):
            (folder / name).write_text(found.files[name].text)
    for command in (["check"], ["format", "--diff"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--isolated", "--no-cache", str(tmp_path)]
        done = subprocess.run(ruff, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[:3000]


@pytest.mark.parametrize("policy", ["stored_half", "autocast"])
def test_a_model_defines_the_casts_that_it_uses(policy: str) -> None:
    for precision, attention in itertools.product((FLOAT16, FULL), ("fused", "explicit")):
        text = (
            compiled(
                "tensorflow",
                model=DROPOUT | {"attention": attention},
                precision=precision | {"policy": policy},
            )
            .files["model.py"]
            .text
        )
        for name in ("half", "float32", "float32_after", "softmax", "normalized", "gelu"):
            defined = f"\ndef {name}(" in text
            used = text.replace(f"def {name}(", "").replace(f"tf.nn.{name}(", "")
            assert defined == (f"{name}(" in used), name


def test_a_recipe_learns_that_no_attention_is_fused() -> None:
    for target in (*TARGETS, REWRITE):
        assert said(target) == {"CC368"}
        assert said(target, model=BERT | {"attention": "explicit"}) == set()
    for target in TARGETS:
        assert said(target, precision=BFLOAT16) == {"CC368"}


def test_the_graph_rewrite_names_the_policy_that_it_can_follow() -> None:
    with pytest.raises(DiagnosticError) as error:
        compiled(REWRITE, precision=FLOAT16)
    (refused,) = (d for d in error.value.diagnostics if d.severity is Severity.ERROR)
    assert (refused.code, refused.path) == ("CC371", "precision.ops")
    assert "write precision.policy: float32_stream" in refused.message
    followed = FLOAT16 | {"policy": "float32_stream"}
    scaling = {"mode": "none"}
    assert said(REWRITE, precision=followed, loss_scaling=scaling) == {"CC368", "CC371"}


@pytest.mark.parametrize("kind", ["float32", "float32_stored_half"])
def test_half_weights_are_multiplied_in_half(kind: str) -> None:
    with pytest.raises(DiagnosticError) as error:
        compiled("tensorflow", precision=FULL | {"ops": {"matmul": kind}})
    assert "CC331" in {found.code for found in error.value.diagnostics}


@pytest.mark.parametrize(
    ("policy", "norm", "loss"),
    [
        ("stored_half", '"float32", autocast=False', "float32"),
        ("autocast", '"float32"', "float32"),
        ("keras", '"mixed_float16"', "float32"),
    ],
)
def test_policies_of_layers(policy: str, norm: str, loss: str) -> None:
    files = compiled("tensorflow", precision=FLOAT16 | {"policy": policy}).files
    assert f"LayerNormalization(epsilon=LAYER_NORM_EPS, dtype={norm})" in files["model.py"].text
    assert 'DTYPE_POLICY = "mixed_float16"' in files["train.py"].text
    assert f"training=training), tf.{loss})" in files["train.py"].text


def test_losses_are_rounded_once() -> None:
    for half, precision in (("float16", FLOAT16), ("bfloat16", BFLOAT16)):
        ops = {"losses": "float32_stored_half"}
        text = compiled("tensorflow", precision=precision | {"ops": ops}).files["train.py"].text
        assert "training=training), tf.float32)" in text
        assert text.count(f"losses = tf.cast(losses, tf.{half})\n") == 1
        assert f"rounded to {half}" in text
