"""A bench for emitted Paddle scripts: a folder with data, scripts and what they leave."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file

from frameworks.emitted_script import FLOAT16, emit, tiny_recipe, write_rows
from frameworks.script_runs import Run, calls
from frameworks.subprocesses import completed, environment, run_python, warm

DYNAMIC = {"mode": "dynamic", "init_scale": 1024.0, "growth_interval": 3}
SCALED: dict[str, Any] = {"precision": FLOAT16, "loss_scaling": DYNAMIC}
ROWS = 44
"""Training rows: windows of 16, 16 and 12."""


class Lab:
    """Emits scripts below `folder` and runs them on the same small data."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        train = write_rows(folder / "train.npz", ROWS)
        evaluate = write_rows(folder / "eval.npz", 10, seed=1)
        self.flags = ("--train", train, "--eval", evaluate)

    def script(self, name: str, target: str = "paddle", **sections: Any) -> Path:
        """Return the emitted train.py of a tiny recipe."""
        return emit(tiny_recipe(**sections), target, self.folder / name) / "train.py"

    def _listed(
        self, script: Path, runs: Sequence[tuple[object, ...]]
    ) -> list[tuple[Path, tuple[object, ...]]]:
        parent = self.folder / script.parent.name
        return [(parent / str(name), (*self.flags, *flags)) for name, *flags in runs]

    def main(self, script: Path, *runs: tuple[object, ...], framework: str = "paddle") -> list[Run]:
        """Call main() once for each (output name, flags...), in one process."""
        return calls(script, framework, self._listed(script, runs))

    def ended(
        self, script: Path, *runs: tuple[object, ...], framework: str = "paddle"
    ) -> list[Run]:
        """As `main`, for runs that must finish."""
        return finished(self.main(script, *runs, framework=framework))

    def with_scaler(
        self,
        script: Path,
        *runs: tuple[object, ...],
        faults: Sequence[str] = (),
        framework: str = "paddle",
    ) -> list[Run]:
        """As `main`, with a loss scaler that works on CPU and poisoned micro-batches."""
        listed = self._listed(script, runs)
        arguments = [["--output", str(output), *map(str, flags)] for output, flags in listed]
        program = Path(__file__).with_name("run_main_paddle_amp.py")
        found = run_python(program, framework, script, json.dumps(arguments), *faults)
        return [
            Run(output, **recorded) for (output, _), recorded in zip(listed, found, strict=True)
        ]

    def shell(self, *command: object) -> subprocess.CompletedProcess[str]:
        """Run a command as a user would, in the bench's folder."""
        process = subprocess.Popen(
            list(map(str, command)),
            cwd=self.folder,
            env=environment() | {"PYTHON": warm("paddle")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        return completed(process)


def finished(runs: list[Run]) -> list[Run]:
    """Check that all runs came to their end."""
    for run in runs:
        assert (run.code, run.traceback, run.stderr) == (0, "", ""), run
    return runs


def same(run: Run, other: Run) -> None:
    """Check that two runs came to the same, bit by bit."""
    assert run.trace == other.trace
    assert run.status["eval"] == other.status["eval"]
    for file in ("model.safetensors", "checkpoint.safetensors"):
        arrays, others = (load_file(first.output / file) for first in (run, other))
        assert arrays.keys() == others.keys()
        for name, array in arrays.items():
            assert array.tobytes() == others[name].tobytes(), name
