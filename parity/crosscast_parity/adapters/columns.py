"""Columns of the conformance table: who is asked, and how its probe process is run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError

SECONDS = 300
EXTRA = 'pip install "crosscast[trainers]"'


@dataclass(frozen=True, slots=True)
class Column:
    """One trainer. `name` is that of its probe module, `scaler` says where its scaler came from."""

    name: str
    title: str
    framework: str
    package: str
    scaler: str = ""


PUT_IN = 'creates no scaler on a CPU: the test injected `GradScaler("cpu")`'
COLUMNS: tuple[Column, ...] = (
    Column("emitted_torch", "emitted PyTorch", "torch", "torch"),
    Column("emitted_tensorflow", "emitted TensorFlow", "tensorflow", "tensorflow"),
    Column("emitted_paddle", "emitted Paddle", "paddle", "paddle", "half precision was emulated"),
    Column("accelerate", "Accelerate", "torch", "accelerate", PUT_IN),
    Column("transformers", "HF Trainer", "torch", "transformers", PUT_IN),
    Column("lightning", "Lightning Trainer", "torch", "lightning", PUT_IN),
    Column("fabric", "Fabric (loop of its docs)", "torch", "lightning", PUT_IN),
    Column("keras", "Keras fit", "tensorflow", "keras"),
)
BY_NAME = {column.name: column for column in COLUMNS}


def observe(column: Column, interpreter: str = sys.executable) -> dict[str, Any]:
    """Run a column's probe and return what it printed.

    Raises:
        DiagnosticError: CC736 if a package is missing there, CC739 if the probe fails.
    """
    try:
        process = subprocess.run(
            [interpreter, "-m", "crosscast_parity.adapters.probe", column.name],
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _failed(column, type(error).__name__) from None
    lines = process.stderr.strip().splitlines() or [f"exit code {process.returncode}"]
    missing = "ModuleNotFoundError: No module named "
    if process.returncode and lines[-1].startswith(missing):
        name = lines[-1].removeprefix(missing)
        message = f"{column.title} needs {name}, which {Path(interpreter).name} does not find"
        raise DiagnosticError(Diagnostic(code="CC736", message=message, hint=EXTRA))
    if process.returncode:
        raise _failed(column, lines[-1][:300])
    try:
        observation = json.loads(process.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        raise _failed(column, "it printed no JSON") from None
    if not isinstance(observation, dict) or not {"versions", "half", "cases"} <= set(observation):
        raise _failed(column, "it printed unexpected output")
    return observation


def _failed(column: Column, why: str) -> DiagnosticError:
    message = f"the probe of {column.title} failed: {why}"
    return DiagnosticError(Diagnostic(code="CC739", message=message))


def _environment() -> Mapping[str, str]:
    """One thread, no GPU, nothing from a network."""
    return os.environ | {
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "KERAS_BACKEND": "tensorflow",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
