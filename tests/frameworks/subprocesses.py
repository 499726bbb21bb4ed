"""Runs framework code in processes of its own and hands its results back as data."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TAIL = 6000
"""Characters of output that a failure shows."""


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a quiet run on one CPU core, with the test helpers importable."""
    return (
        dict(os.environ)
        | {
            "PYTHONPATH": str(ROOT / "tests"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OMP_NUM_THREADS": "1",
            "CUDA_VISIBLE_DEVICES": "",
            "TF_CPP_MIN_LOG_LEVEL": "2",
        }
        | dict(extra or {})
    )


def need(framework: str) -> None:
    """Skip the test where a framework is not installed; it is not imported here."""
    if importlib.util.find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed")


def run(
    *command: str | Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 300,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, whatever it is; `env` adds to `environment()`."""
    return subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=environment(env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def run_python(
    source: str | Path,
    *arguments: str | Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 300,
) -> Any:
    """Run a Python file, or Python text, and return the JSON document of its last line of output.

    The test fails, showing what the process printed, when it does not end with exit code 0 or its
    last line is not JSON.
    """
    program = [source] if isinstance(source, Path) else ["-c", source]
    done = run(sys.executable, *program, *arguments, cwd=cwd, env=env, timeout=timeout)
    shown = f"{done.stdout[-TAIL:]}\n{done.stderr[-TAIL:]}"
    if done.returncode != 0:
        pytest.fail(f"the process ended with exit code {done.returncode}:\n{shown}")
    lines = done.stdout.splitlines()
    try:
        return json.loads(lines[-1])
    except (IndexError, ValueError):
        pytest.fail(f"the process printed no JSON document at its end:\n{shown}")
