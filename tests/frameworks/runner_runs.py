"""Runs of emitted scripts through the parity runner: faults and emulation from outside."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from frameworks.script_runs import Run
from frameworks.subprocesses import environment, require

RUNNER = "crosscast_parity.inside.runner"


def start_runner(
    framework: str, script: Path, options: Sequence[str] = (), arguments: Sequence[object] = ()
) -> subprocess.CompletedProcess[str]:
    """Run a script; `options` are the runner's, `arguments` those of the script."""
    require(framework)
    head = [
        "-m",
        RUNNER,
        "--inside",
        f"crosscast_{framework}.inside",
        "--script",
        str(script),
    ]
    return subprocess.run(
        [sys.executable, *head, *options, "--", *map(str, arguments)],
        cwd=script.parent,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


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
