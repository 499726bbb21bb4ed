"""The loss is a float32 scalar before it is scaled: 2**16 times a half would be inf (gotcha 24)."""

from __future__ import annotations

from pathlib import Path

import pytest

from frameworks.emitted_script import FLOAT16, emit, tiny_recipe
from frameworks.subprocesses import run_python

CASTS = {
    "torch": (".float()", ""),
    "tensorflow": ("tf.float32)", "tf.float16)"),
    "jax": (".astype(jnp.float32)", ""),
}
SCALING = {"mode": "dynamic", "init_scale": 2.0**16}


def drop_cast(script: Path, target: str) -> None:
    """Take the cast out of the line that computes the logits."""
    text = script.read_text()
    start = text.index("logits = ")
    end = text.index("\n", start)
    line, (old, new) = text[start:end], CASTS[target]
    assert old in line, line
    script.write_text(text[:start] + line.replace(old, new) + text[end:])


@pytest.mark.parametrize(
    "target", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in CASTS]
)
def test_the_scaled_loss_is_finite(tmp_path: Path, target: str) -> None:
    recipe = tiny_recipe(precision=FLOAT16, loss_scaling=SCALING)
    whole, faulty = (emit(recipe, target, tmp_path / name) for name in ("whole", "faulty"))
    drop_cast(faulty / "train.py", target)
    program = Path(__file__).with_name("scaled_loss.py")
    found = run_python(program, target, target, whole, faulty)
    assert found[str(whole)] == {"type": "float32", "shape": [], "finite": True}
    assert found[str(faulty)]["type"] == "float16"
    if target == "torch":  # a half tensor of no dimension would become float32
        assert not found["half"]
        assert "shape [1]" in found["told"]  # so it does not get as far as that
