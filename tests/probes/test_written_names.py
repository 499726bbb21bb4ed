"""Every name of a framework that a codemod writes exists in the installed release."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from crosscast_migrate.registry import all_codemods
from frameworks.subprocesses import run_python

PROGRAM = Path(__file__).parent / "resolve_names.py"
ROOTS = {
    "torch": ("torch",),
    "tensorflow": ("tensorflow", "keras"),
    "tf_keras": ("tensorflow", "tf_keras", "tf_slim"),
    "paddle": ("paddle",),
}


def names_of(text: str, roots: tuple[str, ...]) -> set[str]:
    """Return the qualified names of some packages that a program imports or uses."""
    tree = ast.parse(text)
    bound: dict[str, str] = {}
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found.add(alias.name)
                root = alias.name.partition(".")[0]
                bound[alias.asname or root] = alias.name if alias.asname else root
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                whole = node.module if alias.name == "*" else f"{node.module}.{alias.name}"
                found.add(whole)
                bound[alias.asname or alias.name] = whole
    found |= set(_chains(tree, bound))
    return {name for name in found if name.partition(".")[0] in roots}


def _chains(tree: ast.Module, bound: dict[str, str]) -> Iterator[str]:
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        parts: list[str] = []
        here: ast.AST = node
        while isinstance(here, ast.Attribute):
            parts.append(here.attr)
            here = here.value
        if isinstance(here, ast.Name) and here.id in bound and id(node) not in inner:
            yield ".".join((bound[here.id], *reversed(parts)))


def written(framework: str) -> list[str]:
    """Return what the examples of all codemods have after them and not before."""
    found: set[str] = set()
    for codemod in all_codemods().values():
        for example in codemod.examples:
            legacy = "TF_USE_LEGACY_KERAS" in example.after
            if framework in ("tensorflow", "tf_keras") and legacy != (framework == "tf_keras"):
                continue
            roots = ROOTS[framework]
            found |= names_of(example.after, roots) - names_of(example.before, roots)
    return sorted(found)


def test_names_are_found() -> None:
    text = "import torch\nfrom torch.amp import GradScaler as G\nG.x(torch.a.b(c.d), torch.a)\n"
    assert names_of(text, ("torch",)) == {
        *("torch", "torch.a", "torch.a.b", "torch.amp.GradScaler", "torch.amp.GradScaler.x")
    }


@pytest.mark.parametrize(
    "framework",
    [
        pytest.param("torch", marks=pytest.mark.torch),
        pytest.param("tensorflow", marks=pytest.mark.tensorflow),
        pytest.param("tf_keras", marks=pytest.mark.tensorflow),
        pytest.param("paddle", marks=pytest.mark.paddle),
    ],
)
def test_what_codemods_write_exists(framework: str, tmp_path: Path) -> None:
    names = written(framework)
    assert names
    (tmp_path / "names.json").write_text(json.dumps(names))
    fork = framework != "tf_keras"
    missing = run_python(PROGRAM, framework, tmp_path / "names.json", tmp_path, fork=fork)
    assert missing == []
