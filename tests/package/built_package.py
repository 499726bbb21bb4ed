"""Wheel and sdist, built from the checkout and installed into environments of their own."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from source_trees import ROOT


def run(
    *command: str | Path, cwd: Path | None = None, code: int = 0, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command that must end with a code."""
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    told = f"{' '.join(map(str, command))}: exit code {done.returncode}, not {code}"
    assert done.returncode == code, f"{told}\n{done.stdout}{done.stderr}"
    return done


def build(folder: Path, kind: str, source: Path = ROOT) -> Path:
    """Build the wheel (`--wheel`) or the sdist (`--sdist`) into an empty folder."""
    run(sys.executable, "-m", "build", "--no-isolation", kind, "--outdir", folder, source)
    (path,) = folder.iterdir()
    return path


def pip(python: Path) -> tuple[str | Path, ...]:
    """Return the words that begin a command of pip for an environment without pip."""
    return sys.executable, "-m", "pip", "--python", python


def new_environment(folder: Path, python: str | Path = sys.executable) -> Path:
    """Make an empty environment; return its bin folder.

    Without pip of its own, which would take longer than the rest.
    """
    run(python, "-m", "venv", "--without-pip", folder)
    return folder / "bin"


def unpacked(sdist: Path, folder: Path) -> Path:
    """Unpack an sdist; return the folder with its files."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (source,) = folder.iterdir()
    return source


def contents(wheel: Path) -> dict[str, bytes]:
    """Return the files of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
