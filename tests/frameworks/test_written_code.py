"""What migrations write into programs can be imported with the installed frameworks."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from crosscast_migrate.written_code import written_text
from crosscast_paddle.migration.experimental.paddle_names.helpers import template_values
from frameworks.subprocesses import require, run_python
from source_trees import ROOT

PROGRAM = Path(__file__).parent / "run_imports.py"
FILES = ROOT / "templates" / "migrated"


def imported(framework: str, folder: Path) -> None:
    """Import every file of a framework, and require that it defines what it says."""
    require(framework)
    here = folder / "written"
    here.mkdir()
    texts = {
        path.name.removesuffix(".j2"): written_text(f"{framework}/{path.name}", **template_values())
        for path in (FILES / framework).iterdir()
        if path.is_file()
    }
    for name, text in texts.items():
        (here / name).write_text(text)
    found = run_python(PROGRAM, framework, here)
    assert found.keys() == {name.removesuffix(".py") for name in texts}
    for name, text in texts.items():
        defined = {
            node.name
            for node in ast.parse(text).body
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
        }
        assert defined
        assert defined <= set(found[name.removesuffix(".py")]), name


@pytest.mark.parametrize(
    "framework",
    [
        pytest.param(folder.name, marks=getattr(pytest.mark, folder.name))
        for folder in sorted(FILES.iterdir())
        if folder.is_dir()
    ],
)
def test_code_for_a_framework_is_imported(tmp_path: Path, framework: str) -> None:
    imported(framework, tmp_path)
