"""Runs Python programs that import a framework, each in a process of its own.

Programs for the installed torch, tensorflow and paddle are forks of a process that has imported the
framework already (`fork_server`); a test that cannot use a fork says so with `fork=False`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import psutil
import pytest

from crosscast_parity.processes.process import child_environment
from frameworks.fork_server import warm_python

TESTS = Path(__file__).parents[1]


SOURCES = tuple(str(TESTS.parent / root) for root in ("translator", "backends", "parity"))
"""Where an older framework's interpreter, which has no crosscast, finds it."""


def environment(framework: str = "") -> dict[str, str]:
    """The environment of a framework's process: one thread, no GPU, few messages."""
    sources = SOURCES if "@" in framework else ()
    # A clone is tested with its own sources, whatever is installed; programs start elsewhere.
    given = [str(Path(path).absolute()) for path in _given()]
    legacy = {"TF_USE_LEGACY_KERAS": "1"} if framework == "tf_keras" else {}
    return (
        os.environ
        | legacy
        | {
            "PYTHONPATH": os.pathsep.join((str(TESTS), *sources, *given)),
            "OMP_NUM_THREADS": "1",
            "CUDA_VISIBLE_DEVICES": "",
            "TF_CPP_MIN_LOG_LEVEL": "2",
            "KERAS_BACKEND": "tensorflow",
        }
    )


def older(framework: str) -> list[str]:
    """The older versions to test with: `paddle@2.6` if CROSSCAST_PADDLE_2_6 names its Python.

    Not Paddle 1, from which programs are only migrated.
    """
    prefix = f"CROSSCAST_{framework.upper()}_"
    found = [name.removeprefix(prefix) for name in os.environ if name.startswith(prefix)]
    if framework == "paddle":
        found = [version for version in found if not version.startswith("1_")]
    return [f"{framework}@{version.replace('_', '.')}" for version in sorted(found)]


def paddle_2() -> list[Any]:
    """The releases of Paddle 2 to test with; without any, a case that is skipped and says why."""
    wanted = "needs Paddle 2: let CROSSCAST_PADDLE_2_6 name its Python (docs/testing.md)"
    found = [name for name in older("paddle") if name.startswith("paddle@2.")]
    return found or [pytest.param("paddle@2", marks=pytest.mark.skip(reason=wanted))]


def _given() -> list[str]:
    return [word for word in os.environ.get("PYTHONPATH", "").split(os.pathsep) if word]


def interpreter(framework: str) -> str:
    """The Python that runs a framework: this one unless a version is asked for."""
    name, _, version = framework.partition("@")
    if not version:
        return sys.executable
    return os.environ[f"CROSSCAST_{name.upper()}_{version.replace('.', '_')}"]


def require(framework: str) -> None:
    """Skip the test where a framework is missing; in CI, where none may be, fail it."""
    if "@" in framework:
        return
    if importlib.util.find_spec(framework) is None:
        refuse = pytest.fail if os.environ.get("CI") else pytest.skip
        refuse(f"{framework} is not installed")


IMPORTS = {
    # The first step of an optimizer imports torch._dynamo, which takes longer than torch itself.
    "torch": ("torch", "torch._dynamo"),
    "tensorflow": ("tensorflow", "keras"),
    "jax": ("jax", "flax.nnx", "optax"),
    "tf_keras": ("tensorflow", "tf_keras"),
    "paddle": ("paddle",),
    # No framework: what every command imports, and nothing that asks which plug-ins there are.
    "crosscast": ("crosscast.cli", "crosscast.emit.compiler", "crosscast.recipe.load"),
}
"""What the servers import, by framework."""


def warm(framework: str, *, harness: bool = True) -> str:
    """Return an executable that behaves as Python and has imported a framework already.

    Args:
        framework: a key of `IMPORTS`.
        harness: whether it is for processes that the parity harness starts: TensorFlow is imported
            with other variables there.
    """
    return _warm(framework, harness and framework in ("tensorflow", "tf_keras"))


@cache
def _warm(framework: str, as_child: bool) -> str:
    """One server each: what imports a framework takes seconds."""
    child = child_environment(threads=1, device="cpu") if as_child else {}
    return warm_python(IMPORTS[framework], environment(framework) | child)


def pythons(*targets: str) -> dict[str, str]:
    """Return warm interpreters by target, as the harness takes them."""
    return {target: warm(target) for target in targets}


def python_options(*targets: str) -> list[str]:
    """Return the options of a command that make its processes warm."""
    found = pythons(*targets).items()
    return [word for target, path in found for word in ("--python", f"{target}={path}")]


def start(
    program: Path | str, framework: str, *arguments: object, timeout: int = 300, fork: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run a program and return how it ended; skip the test if the framework is missing.

    Args:
        program: a file, run in its own folder, or the name of a module.
        framework: what it imports: `torch`, `tf_keras`, `paddle@2.6`, …
        arguments: its command line.
        timeout: in seconds.
        fork: whether it may be a fork of a process that has imported the framework.
    """
    require(framework)
    forks = fork and framework in IMPORTS
    python = warm(framework, harness=False) if forks else interpreter(framework)
    module = isinstance(program, str)
    return subprocess.run(
        [python, *(["-m"] if module else []), str(program), *map(str, arguments)],
        cwd=None if isinstance(program, str) else program.parent,
        env=environment(framework),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def run_python(
    program: Path, framework: str, *arguments: object, timeout: int = 300, fork: bool = True
) -> Any:
    """Run a program that must succeed; return the JSON document in its last line of output."""
    done = start(program, framework, *arguments, timeout=timeout, fork=fork)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def completed(
    process: subprocess.Popen[str], seconds: int = 200
) -> subprocess.CompletedProcess[str]:
    """Wait for a process; after `seconds`, kill it with everything that it has started."""
    with process:
        try:
            stdout, stderr = process.communicate(timeout=seconds)
        finally:
            kill(process)
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def kill(process: subprocess.Popen[str]) -> None:
    """Kill a process that has not ended, with everything that it has started."""
    if process.poll() is None:
        # Not by its group: a launcher puts its workers into other sessions.
        for started in psutil.Process(process.pid).children(recursive=True):
            started.kill()
        process.kill()
