"""Import a training script as a module, as often as a session needs it."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from crosscast_parity.inside.emitted import SEAMS
from crosscast_parity.inside.modules import module_of

BESIDE = ("model", "runtime")
"""Modules in the folder of an emitted script."""


def load_script(path: Path) -> ModuleType:
    """Import a script as a module without running its main part; its folder comes first.

    What stands beside another script is forgotten.
    """
    for name in [name for name in sys.modules if name.partition(".")[0] in BESIDE]:
        del sys.modules[name]
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is not a Python script")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def prepare(inside: str, module: ModuleType) -> None:
    """Do what a framework needs of a loaded script before its functions are wrapped.

    Args:
        inside: the package with what a backend loads in the process of its framework.
        module: the script; one without the functions that are wrapped is left alone.
    """
    framework = module_of(inside, "prepare")
    if framework is not None and all(hasattr(module, name) for name in SEAMS):
        framework.prepare(module)


@contextmanager
def loaded(path: Path) -> Iterator[ModuleType]:
    """Import a script for one run, and forget it and the modules beside it afterwards.

    The next script has a `train` and a `model` of its own.
    """
    before = list(sys.path)
    try:
        yield load_script(path)
    finally:
        sys.path[:] = before
        folder = f"{os.path.normpath(path.parent)}{os.sep}"
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            # Of thousands of modules: pathlib would take longer than a short run.
            if isinstance(file, str) and os.path.normpath(file).startswith(folder):
                del sys.modules[name]
