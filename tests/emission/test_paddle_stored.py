"""What Paddle emits for recipes that say what operations store."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crosscast.emit.compiler import compile_recipe
from crosscast.recipe.document import Recipe
from emission import goldens
from frameworks.emitted_script import BFLOAT16, FLOAT16, TINY, tiny_recipe
from tiers import cases

DIALECTS = ("paddle", "paddle@dygraph2")
STATIC: dict[str, Any] = {"mode": "static", "scale": 1e30}
STORED_HALF: dict[str, dict[str, Any]] = {
    "stored-half": {"precision": BFLOAT16, "model": TINY["model"] | {"dropout": 0.1}},
    "stored-types": {
        "precision": FLOAT16
        | {
            "ops": dict.fromkeys(("matmul", "losses"), "float32_stored_half")
            | {"residual": "float32"}
        },
        "model": TINY["model"] | {"dropout": 0.1, "attention": "explicit"},
    },
}
"""Recipes of version 2."""


def run(*command: str | Path) -> None:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


@pytest.mark.parametrize("name", STORED_HALF)
def test_what_is_stored_in_half_is_kept(name: str) -> None:
    (compiled,) = compile_recipe(tiny_recipe(version=2, **STORED_HALF[name]), ["paddle"])
    goldens.check(compiled, f"paddle-{name}")


KINDS = ("half", "float32", "float32_stored_half")
CLASSES = ("matmul", "pointwise", "reductions", "embeddings", "losses")


def drawn_types(count: int) -> Iterator[tuple[Recipe, str]]:
    """Draw recipes of version 2 with any types, and a target for each."""
    draw = random.Random(4)
    for _ in range(count):
        ops = {kind: draw.choice(KINDS) for kind in CLASSES}
        ops["residual"] = draw.choice(KINDS[:2])
        half = {"mode": draw.choice(("mixed", "full")), "ops": ops}
        half["compute_dtype"] = draw.choice(("float16", "bfloat16"))
        attention = {"attention": draw.choice(("fused", "explicit"))}
        model = TINY["model"] | attention | {"dropout": draw.choice((0.0, 0.1))}
        recomputed = draw.choice((False, True))
        recipe = tiny_recipe(
            version=2, model=model, precision=half, activation_checkpointing=recomputed
        )
        yield recipe, draw.choice(DIALECTS)


@pytest.mark.parametrize(
    "count", cases([40, 400], quick=[40], reason="more types of operations, drawn")
)
def test_any_stored_types_are_written_as_ruff_would(tmp_path: Path, count: int) -> None:
    for number, (recipe, target) in enumerate(drawn_types(count)):
        files = compile_recipe(recipe, [target])[0].files
        model, train = files["model.py"].text, files["train.py"].text
        assert ("def stored(" in model) == (model.count("stored(") > 1)
        assert 'TYPES["stored"]' not in train or '    "stored": "' in model
        (tmp_path / f"model_{number}.py").write_text(model)
        (tmp_path / f"train_{number}.py").write_text(train)
    run(sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", tmp_path)
    run(sys.executable, "-m", "ruff", "format", "--isolated", "--no-cache", "--check", tmp_path)


def test_a_version_without_fused_attention_says_so(tmp_path: Path) -> None:
    recipe = tiny_recipe(version=2, **STORED_HALF["stored-half"])
    new, old = (compile_recipe(recipe, [target])[0] for target in ("paddle", "paddle@2.6"))
    found = {diagnostic.code: diagnostic for diagnostic in old.diagnostics}
    assert "write model.attention: explicit" in found["CC369"].message
    assert "CC369" not in {diagnostic.code for diagnostic in new.diagnostics}
    texts = [compiled.files["model.py"].text for compiled in (new, old)]
    assert ["scaled_dot_product_attention" in text for text in texts] == [True, False]
    assert ["(CC369)" in text for text in texts] == [False, True]


@pytest.mark.parametrize(
    ("sections", "scaled"),
    [
        ({"precision": BFLOAT16}, False),
        ({"precision": FLOAT16, "loss_scaling": {"mode": "none"}}, False),
        ({"precision": FLOAT16}, True),
        ({"precision": FLOAT16, "loss_scaling": STATIC}, True),
    ],
)
def test_half_copies_need_auto_cast_for_the_scaler_alone(
    sections: dict[str, Any], scaled: bool
) -> None:
    (compiled,) = compile_recipe(tiny_recipe(version=2, **sections), ["paddle"])
    text = compiled.files["train.py"].text
    assert text.count("auto_cast(") == scaled
    assert ('with paddle.amp.auto_cast(False, dtype="float16"):\n' in text) == scaled
