"""Environments of the benchmark's tools, and their outputs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cases import Case

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
_WAITING = 30
"""How many times its processor time a process may take by the clock."""


@dataclass(frozen=True, kw_only=True)
class Means:
    """What the tools are run with."""

    interpreters: Mapping[str, str]
    """By name: `here` has today's frameworks, `paconvert` PaConvert, and so on."""
    limit: float
    """Seconds of processor time for a tool and an input, and for a run of what it wrote."""
    ivy_inputs: Sequence[str] = ()
    """The inputs that Ivy is given; empty: all."""

    def __getitem__(self, name: str) -> str:
        """Return an interpreter."""
        return self.interpreters[name]


@dataclass(frozen=True, kw_only=True)
class ToolResult:
    """What a tool made of an input."""

    script: Path | None
    """What it wrote; none if it refused or failed."""
    said: Sequence[str] = ()
    """Its lines about what it could not do or what a person must look at."""
    refused: str = ""
    """Its own words, if it declined with a message."""
    failed: str = ""
    """How it broke down."""
    changed: bool = True
    arguments: Sequence[str] = ()
    """Of the script, when it is run."""
    trace: Path | None = None
    """A file of rows with the losses of a run; none if the script prints them."""
    float32: ToolResult | None = None
    """The same written for float32, where the one for half precision rounds."""

    def with_float32(self, plain: ToolResult) -> ToolResult:
        """Return both."""
        return replace(self, float32=plain)


def environment(**more: str) -> dict[str, str]:
    """Return the variables of a process: one thread, and nothing of the caller's Python."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    quiet = {"OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONDONTWRITEBYTECODE": "1"}
    return kept | quiet | more


def call(
    command: Sequence[str], folder: Path, seconds: float, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a command that may take so many seconds of processor time, however busy the machine."""
    limited = ["sh", "-c", 'ulimit -t "$0" && exec "$@"', f"{seconds:.0f}", *command]
    try:
        done = subprocess.run(
            limited,
            cwd=folder,
            env=environment(**more),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_WAITING * seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        late = f"not finished after {_WAITING * seconds:.0f} s"
        return subprocess.CompletedProcess(command, 1, "", late)
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        late = f"not finished after {seconds:.0f} s of processor time"
        return subprocess.CompletedProcess(command, 1, done.stdout, late)
    return done


def crosscast(arguments: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command of this checkout."""
    path = os.pathsep.join(str(ROOT / folder) for folder in ("translator", "backends", "parity"))
    return call([sys.executable, "-m", "crosscast", *arguments], folder, 300, PYTHONPATH=path)


def copied(case: Case, folder: Path) -> Path:
    """Return a copy of an input."""
    return Path(shutil.copy(case.path, folder / case.path.name))


def last_line(text: str) -> str:
    """Return the last line that a tool printed."""
    lines = [line.strip() for line in text.replace("\r", "\n").splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no message"
