"""The extension for VS Code: what it starts exists, and it can be packed."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from crosscast.cli.commands import NAMES
from source_trees import ROOT
from tiers import exhaustive

FOLDER = ROOT / "editors" / "vscode"
MANIFEST = json.loads((FOLDER / "package.json").read_text())


def test_it_starts_a_command_that_exists() -> None:
    (setting,) = MANIFEST["contributes"]["configuration"]["properties"].values()
    program, command = setting["default"]
    assert program == "crosscast"
    assert command in NAMES


def test_code_and_manifest_name_the_same_things() -> None:
    code = (FOLDER / MANIFEST["main"]).read_text()
    for command in MANIFEST["contributes"]["commands"]:
        assert f'"{command["command"]}"' in code
    for event in MANIFEST["activationEvents"]:
        assert f'"{event.removeprefix("onLanguage:")}"' in code
    section, _, key = next(iter(MANIFEST["contributes"]["configuration"]["properties"])).partition(
        "."
    )
    assert f'getConfiguration("{section}").get("{key}")' in code


@exhaustive("packages of npm")
@pytest.mark.timeout(600)
def test_it_can_be_packed(tmp_path: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("needs npm")
    folder = tmp_path / "editors" / "vscode"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("node_modules", "*.vsix"))
    shutil.copy(ROOT / "LICENSE", tmp_path)
    install = [npm, "install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"]
    found = subprocess.run(install, cwd=folder, capture_output=True, text=True, check=False)
    if found.returncode and ("ENOTFOUND" in found.stderr or "ECONNREFUSED" in found.stderr):
        pytest.skip("needs a network with the packages of npm")
    assert found.returncode == 0, found.stderr
    packed = subprocess.run(
        [npm, "run", "package"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert packed.returncode == 0, packed.stdout + packed.stderr
    names = zipfile.ZipFile(folder / "crosscast.vsix").namelist()
    assert {"extension/package.json", "extension/extension.js"} <= set(names)
    assert any(name.startswith("extension/node_modules/vscode-languageclient/") for name in names)
