"""The wheel works in an empty environment: templates inside, no framework needed to compile."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tiers import exhaustive

ROOT = Path(__file__).resolve().parents[2]
BACKENDS = ("torch", "tensorflow", "paddle")


def run(*command: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("dist"), "--wheel")


def build(folder: Path, kind: str, source: Path = ROOT) -> Path:
    run(sys.executable, "-m", "build", "--no-isolation", kind, "--outdir", folder, source)
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the bin folder of an environment that holds the wheel and its core dependencies.

    Without pip of its own, and compiled as far as it is used: both would take longer than the rest.
    """
    folder = tmp_path_factory.mktemp("empty") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    constraints = ("--constraint", ROOT / "constraints.txt")
    run(*pip(folder / "bin"), "install", "-q", "--no-compile", *constraints, wheel)
    return folder / "bin"


def pip(programs: Path) -> tuple[str | Path, ...]:
    return sys.executable, "-m", "pip", "--python", programs / "python"


@pytest.fixture(scope="module")
def started(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which `crosscast init` has run."""
    folder = tmp_path_factory.mktemp("started")
    run(installed / "crosscast", "init", cwd=folder)
    return folder


def test_wheel_holds_every_template_and_nothing_foreign(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for template in (ROOT / "templates").rglob("*"):
        if template.is_file():
            inside = f"crosscast/templates/{template.relative_to(ROOT / 'templates').as_posix()}"
            assert inside in names
    tops = {name.split("/")[0] for name in names if ".dist-info" not in name}
    packages = {f"crosscast_{name}" for name in (*BACKENDS, "trainers", "parity")}
    assert tops == {"crosscast", *packages}
    assert not [name for name in names if name.endswith(".pyc")]


@exhaustive("a wheel that is built from the sdist")
def test_sdist_builds_the_same_wheel_contents(wheel: Path, tmp_path: Path) -> None:
    sdist = build(tmp_path / "sdist", "--sdist")
    run(sys.executable, "-m", "tarfile", "-e", sdist, tmp_path / "source")
    (source,) = (tmp_path / "source").iterdir()
    again = build(tmp_path / "wheel", "--wheel", source)
    assert zipfile.ZipFile(again).namelist() == zipfile.ZipFile(wheel).namelist()


def test_compiles_from_the_wheel_without_any_framework(installed: Path, started: Path) -> None:
    frozen = run(*pip(installed), "list").stdout.lower()
    assert "crosscast" in frozen
    assert not [name for name in ("torch", "tensorflow", "paddlepaddle", "numpy") if name in frozen]
    targets = ",".join(BACKENDS)
    run(
        installed / "crosscast",
        *("compile", "recipe.yaml", "--to", targets, "-o", "out"),
        cwd=started,
    )
    for target in BACKENDS:
        for name in ("train.py", "model.py", "launch.sh", "requirements.txt"):
            assert (started / "out" / target / name).stat().st_size > 0
    for command in (["schema"], ["matrix"], ["show", "recipe.yaml"], ["check", "recipe.yaml"]):
        run(installed / "crosscast", *command, cwd=started)


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        (["data", "nli-synthetic", "-o", "data"], "numpy"),
        (["parity", "recipe.yaml", "--to", "torch", "-o", "p"], "crosscast[parity]"),
    ],
)
def test_a_missing_extra_is_named(
    installed: Path, started: Path, command: list[str], missing: str
) -> None:
    done = subprocess.run(
        [str(installed / "crosscast"), *command],
        cwd=started,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert "CC401" in done.stderr
    assert missing in done.stderr.lower()
    assert "Traceback" not in done.stderr


def test_doctor_says_that_nothing_is_installed(installed: Path) -> None:
    done = subprocess.run(
        [str(installed / "crosscast"), "doctor"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert done.stdout.count("not installed") == 3
