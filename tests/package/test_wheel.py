"""The wheel works in an empty environment: templates inside, no framework needed to compile."""

from __future__ import annotations

import subprocess
from pathlib import Path, PurePosixPath

import pytest

from package.built_package import build, contents, new_environment, pip, run, unpacked
from source_trees import ROOT
from tiers import exhaustive

BACKENDS = ("torch", "tensorflow", "paddle", "jax")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("dist"), "--wheel")


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the bin folder of an environment that holds the wheel and its core dependencies.

    They are compiled as far as they are used: all would take longer than the rest.
    """
    programs = new_environment(tmp_path_factory.mktemp("empty") / "venv")
    constraints = ("--constraint", ROOT / "constraints.txt")
    run(*pip(programs / "python"), "install", "-q", "--no-compile", *constraints, wheel)
    return programs


@pytest.fixture(scope="module")
def started(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which `crosscast init` has run."""
    folder = tmp_path_factory.mktemp("started")
    run(installed / "crosscast", "init", cwd=folder)
    return folder


def test_wheel_holds_every_template_and_nothing_foreign(wheel: Path) -> None:
    names = set(contents(wheel))
    for template in (ROOT / "templates").rglob("*"):
        if template.is_file():
            inside = f"crosscast/templates/{template.relative_to(ROOT / 'templates').as_posix()}"
            assert inside in names
    for page in (ROOT / "docs/reference/rules").iterdir():
        assert f"crosscast_reading/lint/pages/{page.name}" in names
    tops = {name.split("/")[0] for name in names if ".dist-info" not in name}
    ours = ("reading", "migrate", "trainers", "parity")
    packages = {f"crosscast_{name}" for name in (*BACKENDS, *ours)}
    assert tops == {"crosscast", *packages}
    assert not [name for name in names if name.endswith(".pyc")]


def test_wheel_has_licence_types_and_no_large_file(wheel: Path) -> None:
    files = contents(wheel)
    assert "crosscast/py.typed" in files
    (info,) = {name.split("/")[0] for name in files if ".dist-info/" in name}
    assert files[f"{info}/licenses/LICENSE"] == (ROOT / "LICENSE").read_bytes()
    metadata = files[f"{info}/METADATA"].decode()
    assert "Description-Content-Type: text/markdown" in metadata
    assert "](docs/" not in metadata
    kinds = {PurePosixPath(name).suffix for name in files if not name.startswith(info)}
    assert kinds <= {".css", ".j2", ".js", ".json", ".md", ".py", ".txt", ".typed", ".xz", ".yaml"}
    assert max(len(text) for text in files.values()) < 250_000
    assert wheel.stat().st_size < 5_000_000


@exhaustive("a wheel that is built from the sdist")
def test_sdist_builds_the_same_wheel_contents(wheel: Path, tmp_path: Path) -> None:
    source = unpacked(build(tmp_path / "sdist", "--sdist"), tmp_path / "source")
    tops = "translator backends parity templates schema docs README.md LICENSE CHANGELOG.md"
    own = "CITATION.cff .gitignore PKG-INFO pyproject.toml"
    assert {path.name for path in source.iterdir()} == {*tops.split(), *own.split()}
    assert contents(build(tmp_path / "wheel", "--wheel", source)) == contents(wheel)


def test_compiles_from_the_wheel_without_any_framework(installed: Path, started: Path) -> None:
    frozen = run(*pip(installed / "python"), "list").stdout.lower()
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
    assert done.stdout.count("not installed") == 4
