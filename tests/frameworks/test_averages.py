"""Evaluating averaged weights leaves the training as it was, on every framework."""

from __future__ import annotations

from pathlib import Path

import pytest
from safetensors.numpy import load_file

from frameworks.emitted_script import emit, tiny_recipe, write_rows
from frameworks.script_runs import calls
from tiers import cases

pytestmark = [*(pytest.mark.torch, pytest.mark.tensorflow, pytest.mark.paddle, pytest.mark.jax)]

EVALUATED = "    return run.finish(state, evaluate)\n"
SAVED = (
    "    from runtime.state import model_arrays\n"
    + EVALUATED.replace("return", "found =")
    + '    run.save("after.safetensors", model_arrays(state))\n'
    + "    return found\n"
)


@pytest.mark.parametrize(
    "framework",
    cases(["torch", "tensorflow", "paddle", "jax"], quick=["torch"], reason="other frameworks"),
)
def test_the_weights_are_back_after_their_averages_were_evaluated(
    tmp_path: Path, framework: str
) -> None:
    """Who evaluates in the middle of a run goes on with the weights."""
    script = emit(tiny_recipe(ema={"decay": 0.9}), framework, tmp_path / "script") / "train.py"
    text = script.read_text()
    assert text.count(EVALUATED) == 1
    script.write_text(text.replace(EVALUATED, SAVED))
    rows = [write_rows(tmp_path / f"{part}.npz", 20) for part in ("train", "eval")]
    flags = ["--train", rows[0], "--eval", rows[1], "--device", "cpu", "--windows", 4]
    (run,) = calls(script, framework, [(tmp_path / "out", flags)])
    assert (run.code, run.traceback) == (0, ""), run.stderr
    after, averages = (load_file(run.output / f"{n}.safetensors") for n in ("after", "ema"))
    for name, weights in run.weights.items():
        assert after[name].tobytes() == weights.tobytes(), name
    assert any((averages[name] != weights).any() for name, weights in run.weights.items())
