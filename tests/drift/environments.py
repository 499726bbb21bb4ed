"""Installs releases into an environment of their own, and lets the probes run in it."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from crosscast.drift.observations import Observation
from drift.releases import PACKAGES, Environment

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
_CORE = ("jinja2", "pydantic", "rich", "ruamel.yaml", "tree-sitter", "tree-sitter-bash", "typer")
_DIGITS = 6
"""Significant digits of numbers that are kept: the last ones depend on the processor."""


class Failed(Exception):
    """An environment could not be made, or a program failed in it."""


def newest(package: str) -> str:
    """Return the newest release of a package that can be installed.

    Raises:
        Failed: it cannot be asked for.
    """
    distribution = PACKAGES[package].distribution
    text = _run([sys.executable, "-m", "pip", "index", "versions", distribution])
    found = re.search(r"\(([^)]+)\)", text)
    if found is None:
        raise Failed(f"no release of {distribution} is to be had")
    return found.group(1).partition("+")[0]


def install(environment: Environment, folder: Path) -> Path:
    """Install an environment whose releases are all named; return its Python.

    Raises:
        Failed: it cannot be installed.
    """
    python = folder / "bin" / "python"
    if (folder / "complete").exists():
        return python
    _run([sys.executable, "-m", "venv", "--clear", str(folder)])
    exact = {
        name: f"{PACKAGES[name].distribution}=={release}" for name, release in environment.releases
    }
    wanted = [text for name, text in exact.items() if name not in environment.forced]
    pip = [str(python), "-m", "pip", "install", "-q"]
    _run([*pip, *wanted, *environment.others, *_CORE])
    for name in environment.forced:  # TensorFlow asks for a range of Keras, not always this one
        _run([*pip, "--no-deps", exact[name]])
    (folder / "complete").touch()
    return python


def observe(environment: Environment, python: Path) -> dict[str, Observation]:
    """Return what the packages of an environment show.

    Raises:
        Failed: a program failed.
    """
    facts = json.loads(_probe(python, f"probes/{environment.folder}/facts.py", "--each"))
    found = {}
    for name, _ in environment.releases:
        package = PACKAGES[name]
        asked = json.dumps({"names": package.names, "modules": package.modules})
        names = json.loads(_probe(python, "drift/observe_names.py", text=asked))
        found[name] = Observation(
            signatures=names,
            facts={
                fact: (answer["text"], _value(answer))
                for fact, answer in facts.items()
                if len(environment.releases) == 1 or fact.startswith(f"{name}/")
            },
        )
    return found


def _value(answer: dict[str, Any]) -> Any:
    return f"raises {answer['error']}" if "error" in answer else _rounded(answer["value"])


def _rounded(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return value


def _probe(python: Path, program: str, *arguments: str, text: str = "") -> str:
    roots = (TESTS, *(ROOT / name for name in ("translator", "backends", "parity")))
    variables = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, roots)),
        "CUDA_VISIBLE_DEVICES": "",
        "KERAS_BACKEND": "tensorflow",
        "OMP_NUM_THREADS": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    command = [str(python), str(TESTS / program), *arguments]
    return _run(command, text=text, variables=variables).splitlines()[-1]


def _run(command: list[str], *, text: str = "", variables: dict[str, str] | None = None) -> str:
    result = subprocess.run(
        command, input=text, capture_output=True, text=True, env=variables, check=False
    )
    if result.returncode:
        end = "\n".join(result.stderr.splitlines()[-5:])
        raise Failed(f"{' '.join(command[:6])} ...: exit code {result.returncode}\n{end}")
    return result.stdout
