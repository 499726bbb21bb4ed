"""Emitted scripts refuse versions of their framework that they were not written for."""

from __future__ import annotations

import ast
import re
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from crosscast.emit.compiler import compile_recipe
from crosscast.targets.backend import find_target, load_backend
from frameworks.emitted_script import tiny_recipe
from own_parts import own_backends
from runtime_texts import settings_of

TF2 = "TensorFlow 2.5 to 2.15, or tf_keras (Keras 2)"
REWRITE = "TensorFlow 2.5 to 2.15, or tf_keras (mixed precision by graph rewrite)"
SCRIPTS = {
    "torch": ("PyTorch 2.4 or newer", ["1.8.0", "2.3.1+cu118", "1.13"]),
    "torch@2.1": ("PyTorch 1.11 to 2.3", ["1.10.2", "2.4.0+cpu", "2.13.0"]),
    "torch@1.8": ("PyTorch 1.6 to 1.10", ["1.5.1", "1.11.0", "2.4.0"]),
    "tensorflow": ("TensorFlow 2.16 or newer (Keras 3)", ["2.15.1", "2.9.0-rc1"]),
    "tensorflow@2.15": (TF2, ["2.4.4", "1.15.5"]),
    "tensorflow@graph-rewrite": (REWRITE, ["2.4.4", "1.15.5"]),
    "paddle": ("Paddle 3.0 or newer", ["2.6.2", "2.4.0-rc0"]),
    "paddle@2.6": ("Paddle 2.6", ["2.5.2", "3.0.0", "3.3.1"]),
    "paddle@fleet": ("Paddle 2.6, static graphs by fleet", ["2.5.2", "3.0.0", "3.3.1"]),
}
ACCEPTED = {
    "torch": ["2.4.0", "2.4.0a0+git1a2b", "2.13.0+cpu", "3.0.0", "2.10"],
    "torch@2.1": ["1.11.0+cu113", "2.3.1"],
    "torch@1.8": ["1.6.0", "1.10.2"],
    "tensorflow": ["2.16.1", "2.21.0", "2.16.0-rc0", "3.0.0"],
    "tensorflow@2.15": ["2.5.0", "2.15.1", "2.21.0"],
    "tensorflow@graph-rewrite": ["2.5.0", "2.15.1", "2.21.0"],
    "paddle": ["3.0.0", "3.3.1", "3.0.0-rc1", "0.0.0"],
    "paddle@2.6": ["2.6.2", "0.0.0"],
    "paddle@fleet": ["2.6.2", "0.0.0"],
}
MODULES = {"torch": "torch", "tensorflow": "tf", "paddle": "paddle"}


def texts(target: str, **sections: Any) -> dict[str, str]:
    (found,) = compile_recipe(tiny_recipe(**sections), [target])
    return {path: file.text for path, file in found.files.items()}


def check(target: str, version: str, files: dict[str, str] | None = None) -> Any:
    """Run the check of an emitted script against a framework that is only its version."""
    files = texts(target) if files is None else files
    module = MODULES[target.partition("@")[0]]
    told = settings_of(files)
    installed = SimpleNamespace(__version__=version)
    others = {name: SimpleNamespace(__version__="1.2") for name in ("np", "keras")}
    space: dict[str, Any] = others | {"re": re, module: installed, "Stop": stop_of(told)}
    for path, name in (("device", "versions"), ("run", "check_version")):
        tree = ast.parse(files[f"runtime/{path}.py"])
        (function,) = (node for node in tree.body if getattr(node, "name", "") == name)
        exec(compile(ast.Module([function], []), path, "exec"), space)
    try:
        space["check_version"](told)
    except space["Stop"] as stop:
        return stop
    return None


def stop_of(settings: Any) -> Any:
    """Return the exception that ends a run, of the module of its settings."""
    return sys.modules[type(settings).__module__].Stop


@pytest.mark.parametrize("target", SCRIPTS)
def test_other_versions_are_refused_in_one_line(target: str) -> None:
    needed, versions = SCRIPTS[target]
    for version in versions:
        stop = check(target, version)
        assert stop is not None, version
        assert (stop.status, stop.exit_code) == ("cannot_run", 3)
        assert str(stop) == f"this script is for {needed}, not for {version}"


@pytest.mark.parametrize("target", SCRIPTS)
def test_own_versions_are_accepted(target: str) -> None:
    for version in ACCEPTED[target]:
        assert check(target, version) is None, version


def test_every_dialect_with_a_script_is_looked_at() -> None:
    names = set()
    for name in (backend.name for backend in own_backends()):
        for dialect in load_backend(name).dialects:
            if MODULES.get(name) and (dialect.since or dialect.oldest):
                names.add((name, dialect.name))
    assert names == {
        (script.partition("@")[0], find_target(script).dialect.name) for script in SCRIPTS
    }


def test_adafactor_of_pytorch_needs_what_has_it() -> None:
    files = texts("torch", optimizer={"name": "adafactor", "learning_rate": 1e-3})
    assert "torch.optim.Adafactor" in files["train.py"]
    refused = check("torch", "2.4.1", files)
    assert str(refused) == "this script is for PyTorch 2.5 or newer, not for 2.4.1"
    assert check("torch", "2.5.0", files) is None


@pytest.mark.parametrize("target", SCRIPTS)
def test_the_check_comes_first_and_not_at_import(target: str) -> None:
    files = texts(target)
    places = [
        (path, getattr(node, "name", ""), ast.unparse(call))
        for path, text in files.items()
        if path.endswith(".py")
        for node in ast.parse(text).body
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "check_version"
    ]
    assert places == [("runtime/run.py", "carry_out", "check_version(settings)")]
    source = files["runtime/run.py"]
    checked = source.index("        check_version(settings)\n")
    assert checked < source.index("= select_device(args, settings)") < source.index("train(run))")


@pytest.mark.parametrize("target", ["torch", "tensorflow", "paddle"])
def test_a_step_checks_nothing(target: str) -> None:
    (found,) = compile_recipe(tiny_recipe(), [target], form="step")
    assert "check_version" not in found.files["step.py"].text
    assert "made_for" not in found.files["step.py"].text


@pytest.mark.parametrize(
    ("target", "processes"),
    [(target, 1) for target in SCRIPTS] + [("torch", 2), ("torch@2.1", 2), ("paddle", 2)],
)
def test_the_check_imports_what_it_uses(target: str, processes: int) -> None:
    strategy = {"strategy": "data_parallel" if processes > 1 else "none"}
    files = texts(target, distributed=strategy | {"processes_per_node": processes})

    def imported(path: str) -> set[str]:
        return {
            alias.asname or alias.name
            for node in ast.parse(files[path]).body
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }

    assert imported("runtime/run.py") >= {"re", "versions", "Stop"}
    assert imported("runtime/device.py") >= {"np", MODULES[target.partition("@")[0]]}
