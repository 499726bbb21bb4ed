"""Runs of emitted scripts through the parity runner: faults and emulation from outside."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from frameworks.script_runs import Run
from frameworks.subprocesses import start

RUNNER = "crosscast_parity.inside.runner"


def start_runner(
    framework: str, script: Path, options: Sequence[str] = (), arguments: Sequence[object] = ()
) -> subprocess.CompletedProcess[str]:
    """Run a script; `options` are the runner's, `arguments` those of the script."""
    head = ("--inside", f"crosscast_{framework}.inside", "--script", script)
    return start(RUNNER, framework, *head, *options, "--", *arguments)


def train(
    framework: str,
    script: Path,
    output: Path,
    options: Sequence[str] = (),
    arguments: Sequence[object] = (),
) -> Run:
    """Train an emitted script to its end; train.npz and eval.npz lie two folders above it."""
    data = script.parents[1]
    flags = ["--train", data / "train.npz", "--eval", data / "eval.npz", "--output", output]
    done = start_runner(framework, script, options, [*flags, "--device", "cpu", *arguments])
    assert done.returncode == 0, done.stderr[-3000:]
    return Run(output, done.returncode, done.stderr, "")
