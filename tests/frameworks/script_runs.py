"""Runs of emitted train.py scripts and what they leave behind."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from frameworks.subprocesses import run_python


@dataclass(frozen=True)
class Run:
    """How one call of main() ended. `traceback` is empty unless it raised."""

    output: Path
    code: int
    stderr: str
    traceback: str
    stdout: str = ""

    @property
    def status(self) -> dict[str, Any]:
        """The status.json, read strictly."""
        text = (self.output / "status.json").read_text()
        status: dict[str, Any] = json.loads(text, parse_constant=_refuse)
        return status

    @property
    def trace(self) -> list[dict[str, Any]]:
        """The rows of the trace, read strictly."""
        lines = (self.output / "trace.jsonl").read_text().splitlines()
        return [json.loads(line, parse_constant=_refuse) for line in lines]

    @property
    def weights(self) -> dict[str, np.ndarray]:
        """The final weights."""
        weights: dict[str, np.ndarray] = load_file(self.output / "model.safetensors")
        return weights

    def refused(self, *words: str) -> None:
        """Check that it ended with exit code 2 and a message with these words."""
        assert self.traceback == ""
        assert self.code == 2, self.stderr
        for word in words:
            assert word in self.stderr, self.stderr


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def calls(
    script: Path,
    framework: str,
    runs: Sequence[tuple[Path, Sequence[object]]],
    timeout: int = 300,
    fork: bool = True,
) -> list[Run]:
    """Call main() of a script once for every (output folder, flags), all in one process."""
    arguments = [["--output", str(output), *map(str, flags)] for output, flags in runs]
    program = Path(__file__).with_name("run_main.py")
    found = run_python(
        program, framework, script, json.dumps(arguments), timeout=timeout, fork=fork
    )
    return [Run(output, **recorded) for (output, _), recorded in zip(runs, found, strict=True)]


def apart(script: Path, framework: str, runs: Sequence[tuple[Path, Sequence[object]]]) -> list[Run]:
    """Call it as `calls` does, each time in a process of its own: for runs that leave equal bits.

    TensorFlow may round otherwise in the second graph of the same function in a process.
    """
    return [run for each in runs for run in calls(script, framework, [each])]
