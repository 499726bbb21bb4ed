"""Stock optax still behaves as the rows of the JAX backend claim."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from frameworks.subprocesses import run_python, start
from source_trees import ROOT

pytestmark = pytest.mark.jax
REPORT = ROOT / "docs" / "measurements" / "optax-multisteps.md"


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    found: dict[str, Any] = run_python(Path(__file__).with_name("facts.py"), "jax", "optax")
    return found


def test_multi_steps_never_recovers(facts: dict[str, Any]) -> None:
    assert facts["multi_steps"] == ["1.0", *["nan"] * 5]  # a scalar, which XLA selects: at the end
    assert facts["guarded"] == ["1.0"] * 6  # every later window is refused


def test_the_report_prints_what_it_says(tmp_path: Path) -> None:
    """Weights of several numbers are nan in the middle of a window."""
    text = REPORT.read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```.*?```text\n(.*?)```", text, re.S)
    assert found is not None
    program, printed = found.groups()
    (tmp_path / "report.py").write_text(program)
    done = start(tmp_path / "report.py", "jax")
    assert done.stdout.splitlines()[1:] == printed.splitlines()[1:], done.stderr


def test_what_is_not_finite_is_accepted_in_the_end(facts: dict[str, Any]) -> None:
    assert facts["patience"] == ["1.0", "1.0", "nan", "nan"]


def test_moments_move_beside_apply_every(facts: dict[str, Any]) -> None:
    """With ones: of a window of 2, the second moment should move once, to 0.5 and 0.75."""
    assert facts["every_behind"] == ["0.5", "0.75", "0.88", "0.94"]
    assert facts["every_before"] == ["0", "2", "1", "2.5"]  # sums of 2, and zeros


def test_clip_adds_nothing_to_the_norm(facts: dict[str, Any]) -> None:
    assert facts["clip"] == [pytest.approx(0.2, rel=1e-7), 1.0]
    assert facts["clip_half"] == [0.0] * 4  # the norm is inf, and all updates vanish


def test_corrections_are_rounded(facts: dict[str, Any]) -> None:
    assert all(1e-6 < abs(error) < 5e-5 for error in facts["correction"])


def test_adam_always_corrects(facts: dict[str, Any]) -> None:
    assert {"b1", "b2", "eps", "eps_root"} <= set(facts["adam"])
    assert not {"bias_correction", "correct_bias"} & set(facts["adam"])


def test_adafactor_factors_large_matrices_only(facts: dict[str, Any]) -> None:
    small, large = facts["factored"]
    assert small == [[1], [1], [64, 64]]
    assert large == [[128], [256], [1]]


def test_the_rate_is_outside_the_momentum(facts: dict[str, Any]) -> None:
    assert facts["momentum"] == pytest.approx(-(1.0 + 0.1 * 1.5))


def test_decay_is_smaller_than_that_of_pytorch(facts: dict[str, Any]) -> None:
    assert facts["decay"] == {"weight_decay": 1e-4}


def test_nothing_scales_losses(facts: dict[str, Any]) -> None:
    assert facts["scaling"] == []


def test_settings_are_read_from_closures(facts: dict[str, Any]) -> None:
    """What `lift --run` says of an optimizer comes from there."""
    assert facts["terms"] == {
        "adam": ["adam", {"b1": 0.8, "b2": 0.98, "eps": 1e-6}],
        "nadam": ["scale_by_adam", {}],
        "momentum": ["momentum", {"momentum": 0.7, "nesterov": 1.0}],
        "lion": ["lion", {"b1": 0.8, "b2": 0.98}],
        "decay": ["decay", {"weight_decay": 0.02}],
        "decays": ["add_decayed_weights", {}],
        "trust ratio": ["trust ratio", {}],
        "clip by global_norm": ["clip by global_norm", {"limit": 0.3}],
        "clip by value": ["clip by value", {"limit": 0.4}],
        "rate": ["rate", {"factor": -0.5}],
        "rates": ["rate", {"factor": -0.5}],
        "zero": ["zero", {}],
        "other": ["scale_by_rms", {}],
    }
    assert facts["handing on"] == [True] * 8
