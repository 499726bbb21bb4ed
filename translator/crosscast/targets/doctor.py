"""Determine what this machine can run, examining each framework in a separate process."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from crosscast.targets.backend import Backend

DTYPES = ("float32", "bfloat16", "float16")
TIMEOUT_SECONDS = 180


@dataclass(frozen=True, slots=True)
class Examination:
    """Results for one framework."""

    target: str
    version: str = ""
    devices: tuple[str, ...] = ()
    native: dict[str, bool] = field(default_factory=dict)
    """Whether a training step in that dtype runs natively on the best device."""
    note: str = ""

    @property
    def usable(self) -> bool:
        """Whether anything can run."""
        return bool(self.native.get("float32"))

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "target": self.target,
            "version": self.version,
            "devices": list(self.devices),
            "native": self.native,
            "note": self.note,
        }

    def cells(self) -> list[str]:
        """Return the cells of the table row."""
        marks = ["native" if self.native.get(name) else "no" for name in DTYPES]
        devices = ", ".join(self.devices) or "-"
        return [self.target, self.version or "missing", devices, *marks, self.note]


def examine(backend: Backend) -> Examination:
    """Return the capabilities of a backend's framework on this machine; never raises."""
    installed = _installed(backend)
    if not installed:
        hint = f'pip install "crosscast[{backend.name}]"'
        return Examination(backend.name, note=f"not installed: {hint}")
    module = sys.modules[type(backend).__module__]
    assert module.__file__ is not None  # backends are packages on disk
    probe = Path(module.__file__).with_name("machine.py")
    try:
        process = subprocess.run(
            [sys.executable, "-P", str(probe)],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        report = json.loads(process.stdout.strip().splitlines()[-1])
        return Examination(
            backend.name,
            version=str(report["version"]),
            devices=tuple(map(str, report["devices"])),
            native={name: bool(report["native"][name]) for name in DTYPES},
            note=str(report["note"]),
        )
    except subprocess.TimeoutExpired:
        return Examination(backend.name, installed, note="import takes too long")
    except (ValueError, KeyError, IndexError, TypeError):
        last = (process.stderr.strip().splitlines() or ["no output"])[-1]
        return Examination(backend.name, installed, note=f"does not import: {last[:200]}")


def _installed(backend: Backend) -> str:
    for name in backend.distributions:
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return ""
