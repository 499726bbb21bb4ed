"""Programs of PyTorch, migrated to JAX, train alike: losses and weights of 20 updates."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from carried_models import network_read, weights_of
from carried_programs import OF_JAX, PROGRAMS, SAID_OF_JAX, UPDATES
from crosscast.messages.output import write_files
from crosscast.messages.source import Source
from crosscast_migrate.across_frameworks import migrate_across
from crosscast_migrate.models.network import Network
from frameworks.script_runs import Run, calls
from tiers import cases, exhaustive

pytestmark = [pytest.mark.torch, pytest.mark.jax]

FRAMEWORKS = ("torch", "jax")
SAID: Mapping[str, object] = {"precision.tf32": False, "schedule.total_steps": UPDATES}
BOUND = 2e-5
"""Of a loss and of a weight after 20 updates, as a share of the largest number of its tensor."""
SMALL = 1e-2
"""A tensor with smaller numbers only keeps the rounding of larger ones."""
_NAMES = {
    "torch": {"mean": "running_mean", "var": "running_var"},
    "jax": {"linear": "kernel", "conv": "kernel", "embedding": "embedding", "norm": "scale"},
}


def own_name(framework: str, network: Network, name: str) -> str:
    """Return a framework's name of `layer/weight`."""
    layer, _, part = name.rpartition("/")
    words = _NAMES[framework]
    if framework == "jax" and part == "weight":
        part = network.layer(layer).kind.replace("batch_", "").replace("layer_", "")
    return f"{layer}.{words.get(part, part)}"


def turned(framework: str, name: str, array: np.ndarray, *, back: bool = False) -> np.ndarray:
    """Return a weight in the layout of a framework, or `back` in that of PyTorch."""
    if framework == "torch" or array.ndim < 2 or "words" in name:
        return array
    first, last = tuple(range(array.ndim - 2)), tuple(range(2, array.ndim))
    if not back:
        return np.ascontiguousarray(np.moveaxis(array.swapaxes(0, 1), last, first))
    return np.moveaxis(array, first, last).swapaxes(0, 1) if array.ndim > 2 else array.T


class Trained:
    """The two scripts of a program after they were run from the same weights."""

    def __init__(
        self, text: str, source: str, folder: Path, said: Mapping[str, object] = SAID
    ) -> None:
        self.network = network_read(text, source)
        # The usual initial weights are smaller than those that show mistakes of single layers.
        self.start = {
            name: array if name.endswith("/var") else (array * 0.5).astype(np.float32)
            for name, array in weights_of(self.network).items()
        }
        across = migrate_across([Source("train.py", text)], FRAMEWORKS, settings=said)
        assert across.fill_in == ()
        write_files(folder, across.files)
        self.runs = {
            framework: self._run(folder / framework, framework) for framework in FRAMEWORKS
        }

    def _run(self, folder: Path, framework: str) -> Run:
        arrays = {
            own_name(framework, self.network, name): turned(framework, name, array)
            for name, array in self.start.items()
        }
        if framework == "torch":
            norms = {name.rpartition("/")[0] for name in self.start if name.endswith("/mean")}
            arrays |= {f"{norm}.num_batches_tracked": np.asarray(0, np.int64) for norm in norms}
        save_file(arrays, folder / "start.safetensors")
        flags = ("--device", "cpu", "--weights", folder / "start.safetensors")
        (run,) = calls(folder / "train.py", framework, [(folder / "out", flags)])
        assert run.code == 0, run.traceback + run.stderr
        return run

    def weights(self, framework: str) -> dict[str, np.ndarray]:
        """Return the weights in the end, by PyTorch's layout."""
        arrays = self.runs[framework].weights
        return {
            name: turned(
                framework, name, arrays[own_name(framework, self.network, name)], back=True
            )
            for name in self.start
        }


def apart(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Return the largest difference, as a share of the largest number."""
    assert ours.shape == theirs.shape
    return float(np.abs(ours - theirs).max() / max(np.abs(ours).max(), SMALL))


def compare(trained: Trained, name: str) -> None:
    """Compare losses and weights; running variances are those of a sample in PyTorch alone."""
    ours, theirs = (trained.runs[framework].trace for framework in FRAMEWORKS)
    assert len(ours) == len(theirs) == UPDATES
    differences = {
        f"loss of update {number}": abs(row["loss"] - other["loss"]) / abs(row["loss"])
        for number, (row, other) in enumerate(zip(ours, theirs, strict=True))
    }
    mine, others = (trained.weights(framework) for framework in FRAMEWORKS)
    moved = [name for name, array in mine.items() if apart(array, trained.start[name]) > 1e-4]
    assert len(moved) == len(mine)
    for weight, array in mine.items():
        if not weight.endswith("/var"):
            differences[weight] = apart(array, others[weight])
    worst = max(differences, key=lambda each: differences[each])
    print(f"{name}: {worst} differs by {differences[worst]:.1e}", file=sys.stderr)
    assert {name: number for name, number in differences.items() if number > BOUND} == {}


@pytest.mark.parametrize(
    "kind", cases(PROGRAMS, quick=["batch-norm"], reason="every kind of program, migrated to JAX")
)
def test_a_program_migrated_to_jax_trains_as_in_pytorch(kind: str, tmp_path: Path) -> None:
    compare(Trained(PROGRAMS[kind], "torch", tmp_path), kind)


@exhaustive("a program of JAX, migrated to PyTorch")
def test_a_program_of_jax_trains_as_in_pytorch(tmp_path: Path) -> None:
    """Its model for JAX is compared with that of the source in test_carried_models."""
    rng = np.random.default_rng(5)
    count = UPDATES * 16
    images = rng.normal(size=(count, 10, 10, 1)).astype(np.float32)
    np.savez(tmp_path / "rows.npz", x=images, labels=rng.integers(0, 3, count))
    rows = str(tmp_path / "rows.npz")
    said = {**SAID, **SAID_OF_JAX, "data.train": rows, "data.eval": rows}
    compare(Trained(OF_JAX, "jax", tmp_path / "out", said), "a program of JAX")
