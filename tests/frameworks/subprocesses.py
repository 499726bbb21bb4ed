"""Runs Python programs that import a framework: each in a process of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]


def environment() -> dict[str, str]:
    """The environment of a framework's process: one thread, no GPU, few messages."""
    return os.environ | {
        "PYTHONPATH": str(TESTS),
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "KERAS_BACKEND": "tensorflow",
    }


def require(framework: str) -> None:
    """Skip the test where a framework is missing; in CI, where none may be, fail it."""
    if importlib.util.find_spec(framework) is None:
        refuse = pytest.fail if os.environ.get("CI") else pytest.skip
        refuse(f"{framework} is not installed")


def start(
    program: Path, framework: str, *arguments: object, timeout: int = 300
) -> subprocess.CompletedProcess[str]:
    """Run a program and return how it ended; skip the test if the framework is missing."""
    require(framework)
    return subprocess.run(
        [sys.executable, str(program), *map(str, arguments)],
        cwd=program.parent,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def run_python(program: Path, framework: str, *arguments: object, timeout: int = 300) -> Any:
    """Run a program that must succeed; return the JSON document in its last line of output."""
    done = start(program, framework, *arguments, timeout=timeout)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])
