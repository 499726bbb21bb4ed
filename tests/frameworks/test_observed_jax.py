"""JAX scripts from outside: what is recorded of them, given to them, and left as it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from safetensors.numpy import load_file

from crosscast_parity.recordings.observations import ObservedWindow, read_observation
from frameworks.emitted_script import emit, tiny_recipe
from frameworks.subprocesses import run_python

pytestmark = pytest.mark.jax

MODEL = """
import jax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.hidden = nnx.Linear(5, 8, rngs=rngs)
        self.norm = nnx.LayerNorm(8, rngs=rngs)
        self.drop = nnx.Dropout(0.25, rngs=rngs)
        self.head = nnx.Linear(8, 3, rngs=rngs)

    @nnx.remat
    def again(self, x):
        return self.drop(nnx.gelu(x))

    def __call__(self, x):
        return self.head(self.again(self.norm(self.again(self.hidden(x)))))


def build_model(rngs):
    return Net(rngs)
"""
RATE = 0.25
WINDOWS = 3
FLOAT16 = {"mode": "mixed", "compute_dtype": "float16"}


class Ran(NamedTuple):
    """Rows of every run by its name, and where it left its files."""

    rows: dict[str, list[dict[str, Any]]]
    folder: Path

    def windows(self, name: str) -> list[ObservedWindow]:
        observation = read_observation(self.folder / name / "observed")
        assert observation is not None
        return list(observation.windows)

    def weights(self, name: str) -> dict[str, np.ndarray]:
        weights: dict[str, np.ndarray] = load_file(self.folder / name / "run" / "model.safetensors")
        return weights


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("jax")
    recipe = tiny_recipe(
        model={"kind": "custom", "factory": {"jax": "net:build_model"}},
        batch={"micro_batch_size": 4, "global_batch_size": 12},
        precision=FLOAT16,
        loss_scaling={"mode": "dynamic", "init_scale": 1024.0},
        clipping={"kind": "global_norm", "max_norm": 0.5},
        optimizer={"name": "adamw", "learning_rate": 0.01, "weight_decay": 0.01, "no_decay": []},
        schedule={"name": "constant", "total_steps": WINDOWS},
    )
    script = emit(recipe, "jax", folder) / "train.py"
    (folder / "net.py").write_text(MODEL)
    rng = np.random.default_rng(3)
    x = rng.normal(size=(32, 5)).astype(np.float32)
    np.savez(folder / "rows.npz", x=x, labels=rng.integers(0, 3, 32))
    data = ("--train", folder / "rows.npz", "--eval", folder / "rows.npz")
    options = (*data, "--device", "cpu", "--windows", WINDOWS)
    program = Path(__file__).with_name("run_observed_jax.py")
    rows = run_python(program, "jax", script, folder, *options)
    return Ran(rows, folder)


def timeless(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows without what depends on the machine."""
    left_out = ("seconds", "peak_memory", "elapsed", "time")
    return [{key: row[key] for key in row if key not in left_out} for row in rows]


@pytest.mark.parametrize(("name", "plain"), [("observed", "plain"), ("masked, observed", "masked")])
def test_an_observed_run_keeps_every_bit(ran: Ran, name: str, plain: str) -> None:
    assert timeless(ran.rows[name]) == timeless(ran.rows[plain])
    ours, theirs = ran.weights(name), ran.weights(plain)
    assert ours.keys() == theirs.keys()
    assert all(ours[key].tobytes() == theirs[key].tobytes() for key in ours)


def test_given_masks_are_other_masks(ran: Ran) -> None:
    assert ran.rows["masked"][0]["loss"] != ran.rows["plain"][0]["loss"]


def test_masks_of_equal_layers_are_counted_apart(ran: Ran) -> None:
    """JAX traces the second call of a function that it knows no second time, unless it must."""
    told = json.loads((ran.folder / "masked" / "masks.json").read_text())
    assert [(call["shape"], call["rate"]) for call in told["calls"]] == [([4, 8], RATE)] * 2
    n_micro = sum(row["n_micro"] for row in ran.rows["masked"])
    assert told["masks"] == 2 * n_micro
    assert told["drawn"] == 2 * told["masks"]  # and once more where they are computed again


def test_gradients_are_those_of_the_window(ran: Ran) -> None:
    """The sums, divided by the scale and clipped, are what the optimizer got."""
    windows = ran.windows("observed")
    assert [window.window for window in windows] == [0, 1]
    for window in windows:
        row = ran.rows["observed"][window.window]
        assert window.micro_rows == (4, 4, 4)
        assert set(window.gradient_dtypes.values()) == {"float32"}
        assert window.factors == pytest.approx([row["scale"] / row["rows"]] * 3)
        assert sum(filter(None, window.losses)) / row["rows"] == pytest.approx(
            row["loss"], rel=1e-5
        )
        norm = np.sqrt(sum((g.astype(float) ** 2).sum() for g in window.total.values()))
        assert norm / row["scale"] == pytest.approx(row["grad_norm"], rel=1e-5)
        clip = min(1.0, 0.5 / (row["grad_norm"] + 1e-6))
        for name, gradient in window.applied.items():
            expected = window.total[name] / row["scale"] * clip
            assert gradient == pytest.approx(expected, rel=1e-5, abs=1e-9)


def test_the_update_is_that_of_the_applied_gradients(ran: Ran) -> None:
    window = ran.windows("observed")[0]
    moved = {name: window.after[name] - window.before[name] for name in window.applied}
    for name, gradient in window.applied.items():
        decay = 0.01 * window.before[name]
        step = gradient / (np.abs(gradient) + 1e-8)  # Adam's first
        assert moved[name] == pytest.approx(-0.01 * (step + decay), rel=1e-3, abs=1e-6), name


@pytest.mark.parametrize("name", ["fault", "fault in a gradient"])
def test_a_fault_reaches_its_micro_batch_alone(ran: Ran, name: str) -> None:
    rows = ran.rows[name]
    assert [row["skipped"] for row in rows] == [False, True, False]
    assert timeless(rows[:1]) == timeless(ran.rows["plain"][:1])
    window = ran.windows(name)[1]
    finite = {key: bool(np.isfinite(g).all()) for key, g in window.total.items()}
    assert not finite["head.bias"]
    assert all(finite.values()) is False
    if name == "fault":
        assert [np.isfinite(loss) for loss in map(float, _numbers(window.losses))] == [
            True,
            False,
            True,
        ]
    else:
        assert [name for name, is_finite in finite.items() if not is_finite] == ["head.bias"]


def _numbers(losses: Any) -> list[float]:
    return [float("nan") if loss is None else loss for loss in losses]


def test_types_are_those_of_layers(ran: Ran) -> None:
    observation = read_observation(ran.folder / "observed" / "observed")
    assert observation is not None
    manifest = observation.manifest
    assert manifest is not None
    order = [(call.name, call.output) for call in manifest.order]
    assert order[0] == ("linear", "float16")
    assert [name for name, _ in order if name == "dropout"] == ["dropout"] * 2
    assert ("layer_norm", "float32") in order


def test_large_arrays_are_told_in_small_pieces() -> None:
    program = Path(__file__).with_name("run_large_callbacks_jax.py")
    done = run_python(program, "jax")
    assert set(done["equal"].values()) == {True}, done
    assert done["number"] == 7
    assert done["largest"] < 100_000  # bytes; JAX copies what is larger in another thread
