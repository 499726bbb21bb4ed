"""What is public: names and signatures that stay, and a function for everything commands do.

CROSSCAST_WRITE_GOLDENS=1 rewrites the list.
"""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

import crosscast as cc
from crosscast.cli.commands import NAMES, build
from python_page import GROUPS, outline
from source_trees import ROOT, is_for_types, tree_of

GOLDEN = Path(__file__).with_name("public_surface.txt")
INIT = ROOT / "translator" / "crosscast" / "__init__.py"
RENAMED = {"output": "out", "interactive": "ask"}
"""Parameters of commands that have another name in Python."""
ELSEWHERE: dict[tuple[str, str], tuple[str, ...]] = {
    ("compile", "explore"): ("explore.paths", "explore.to"),
    ("drift", "all"): ("Drift.screen",),
    ("drift", "names"): ("Drift.names",),
    ("lint", "format"): ("Lint.format",),
    ("lint", "output"): ("Lint.format",),
    ("lint", "write_baseline"): ("Lint.baseline",),
    ("lint", "diff"): ("Lint.diff",),
    ("lint", "list_rules"): ("lint_rules",),
    ("lint", "explain"): ("lint_rules",),
    ("compile", "all"): ("Compilation.screen",),
    ("explain", "all"): ("Explanation.screen",),
    ("lift", "all"): ("Lift.screen",),
    ("matrix", "all"): ("Matrix.screen",),
    ("plan", "all"): ("MemoryPlan.screen",),
    ("matrix", "markdown"): ("Matrix.markdown",),
    ("matrix", "defaults"): ("matrix.about",),
    ("matrix", "dialects"): ("matrix.about",),
    ("migrate", "explore"): ("Across.explore",),
    ("migrate", "diff"): ("InPlace.diff",),
    ("migrate", "list_changes"): ("migrate_changes",),
}
"""Parameters of commands whose counterpart is not a parameter of the function."""
LATER = ("server",)
"""Commands without a function."""


def commands() -> dict[str, click.Command]:
    """Return every command by the name of its function."""
    found: dict[str, click.Command] = {}
    for name in NAMES:
        built = build(name)
        inner = getattr(built, "commands", None)
        parts = {f"{name} {word}": command for word, command in (inner or {}).items()}
        found |= parts or {name: built}
    return {name.replace(" ", "_").replace("-", "_"): command for name, command in found.items()}


def resolve(path: str) -> Any:
    """Return a public name, a member of it, or one of its arguments."""
    name, _, member = path.partition(".")
    found = getattr(cc, name)
    if not member:
        return found
    if isinstance(found, type):
        return getattr(found, member)
    return inspect.signature(found).parameters[member]


def test_names_and_signatures_stay() -> None:
    now = outline()
    if "CROSSCAST_WRITE_GOLDENS" in os.environ:
        GOLDEN.write_text(now, encoding="utf-8")
    assert GOLDEN.read_text(encoding="utf-8") == now


def test_every_command_is_a_function_with_its_options() -> None:
    for name, command in commands().items():
        if name in LATER:
            continue
        parameters = inspect.signature(getattr(cc, name)).parameters
        for option in command.params:
            assert option.name is not None
            if option.name in ("json", "lang", "help"):  # results have `to_json`
                continue
            if (name, option.name) in ELSEWHERE:
                for path in ELSEWHERE[name, option.name]:
                    resolve(path)
            else:
                assert RENAMED.get(option.name, option.name) in parameters, (name, option.name)


def test_every_function_is_on_the_page_and_of_a_command() -> None:
    functions = {name for name in cc.__all__ if name.islower() and not name.startswith("_")}
    assert functions == {name for names in GROUPS.values() for name in names.split()}
    extra = {"load", "loads", "lint_rules", "migrate_changes"}
    assert functions - extra <= set(commands())


def test_defaults_are_those_of_the_commands() -> None:
    for name, command in commands().items():
        if name in LATER:
            continue
        parameters = inspect.signature(getattr(cc, name)).parameters
        for option in command.params:
            parameter = parameters.get(RENAMED.get(option.name or "", option.name or ""))
            if parameter is None or option.required or option.name == "out":
                continue
            ours, theirs = parameter.default, option.default
            empty: tuple[Any, ...] = (None, "", (), [], False, inspect.Parameter.empty)
            if option.name in ("output", "path") or theirs in empty or callable(theirs):
                continue
            assert ours == theirs, (name, option.name)


def test_type_checkers_see_the_same_names() -> None:
    (block,) = (
        node for node in tree_of(INIT).body if isinstance(node, ast.If) and is_for_types(node)
    )
    seen = {}
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        if node.module == "typing":
            continue
        for alias in node.names:
            assert alias.asname == alias.name
            seen[alias.name] = node.module
    assert sorted([*seen, "__version__"]) == sorted(cc.__all__)
    for name, module in seen.items():
        found = getattr(cc, name)
        told = getattr(found, "__wrapped__", found)
        assert told.__module__ == module, name
    assert (INIT.parent / "py.typed").exists()


def test_dir_names_what_is_public() -> None:
    assert {name for name in dir(cc) if not name.startswith("__")} == {*cc.__all__} - {
        "__version__"
    }
    with pytest.raises(AttributeError, match="no attribute 'train'"):
        _ = cc.train


def test_rooms_that_are_named_like_commands_can_be_called() -> None:
    import crosscast.plan.order as module

    assert module.__doc__
    for name in ("drift", "explore", "plan"):
        found = getattr(cc, name)
        assert inspect.ismodule(found)
        assert callable(found)
        assert found.__doc__ == found.__wrapped__.__doc__
        assert inspect.signature(found) == inspect.signature(found.__wrapped__)


LIGHT = """
import sys
before = set(sys.modules)
import crosscast
names = dir(crosscast)
print(*sorted(set(sys.modules) - before))
"""


def test_importing_the_package_loads_nothing_else() -> None:
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True)
    # `typing` and what it needs may be loaded by the interpreter already.
    ours = [name for name in done.stdout.split() if name.startswith("crosscast")]
    heavy = {"typer", "click", "rich", "pydantic", "ruamel", "jinja2", "numpy", "torch", "paddle"}
    assert ours == ["crosscast"]
    assert not heavy & set(done.stdout.split())
