"""crosscast: one training recipe, compiled to PyTorch, TensorFlow/Keras and Paddle.

`import crosscast as cc` offers every command as a function, see docs/python.md. What a name needs
is imported when the name is used first.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crosscast.api.comparing import Diff, diff
    from crosscast.api.compiling import Compilation, FieldVerdict, compile
    from crosscast.api.datasets import (
        EncodedData,
        SyntheticData,
        data_jsonl,
        data_nli_synthetic,
        data_tsv,
        data_xnli,
    )
    from crosscast.api.explaining import Explanation, explain
    from crosscast.api.files import Files
    from crosscast.api.lifting import Lift, LiftedRun, lift
    from crosscast.api.linting import Lint, LintRules, lint, lint_rules
    from crosscast.api.parity import Parity, parity
    from crosscast.api.planning import Plan, plan
    from crosscast.api.recipes import Check, LoadedRecipe, check, load, loads, show
    from crosscast.api.result import Result
    from crosscast.api.scaling import Scaling, check_scaling
    from crosscast.api.states import State, state_convert, state_show
    from crosscast.api.supporting import Machine, Matrix, doctor, init, matrix, schema
    from crosscast.api.sweeping import Sweep, sweep
    from crosscast.api.weights import Weights, weights_check, weights_match
    from crosscast.messages.console import Exit
    from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, Severity, Span

__version__ = "0.1.0"

_PUBLIC = {
    "Check": "api.recipes",
    "Compilation": "api.compiling",
    "Diagnostic": "messages.diagnostics",
    "DiagnosticError": "messages.diagnostics",
    "Diff": "api.comparing",
    "EncodedData": "api.datasets",
    "Exit": "messages.console",
    "Explanation": "api.explaining",
    "FieldVerdict": "api.compiling",
    "Files": "api.files",
    "Lift": "api.lifting",
    "LiftedRun": "api.lifting",
    "Lint": "api.linting",
    "LintRules": "api.linting",
    "LoadedRecipe": "api.recipes",
    "Machine": "api.supporting",
    "Matrix": "api.supporting",
    "Parity": "api.parity",
    "Plan": "api.planning",
    "Result": "api.result",
    "Scaling": "api.scaling",
    "Severity": "messages.diagnostics",
    "Span": "messages.diagnostics",
    "State": "api.states",
    "Sweep": "api.sweeping",
    "SyntheticData": "api.datasets",
    "Weights": "api.weights",
    "check": "api.recipes",
    "check_scaling": "api.scaling",
    "compile": "api.compiling",
    "data_jsonl": "api.datasets",
    "data_nli_synthetic": "api.datasets",
    "data_tsv": "api.datasets",
    "data_xnli": "api.datasets",
    "diff": "api.comparing",
    "doctor": "api.supporting",
    "explain": "api.explaining",
    "init": "api.supporting",
    "lift": "api.lifting",
    "lint": "api.linting",
    "lint_rules": "api.linting",
    "load": "api.recipes",
    "loads": "api.recipes",
    "matrix": "api.supporting",
    "parity": "api.parity",
    "plan": "api.planning",
    "schema": "api.supporting",
    "show": "api.recipes",
    "state_convert": "api.states",
    "state_show": "api.states",
    "sweep": "api.sweeping",
    "weights_check": "api.weights",
    "weights_match": "api.weights",
}
"""The public names and the modules that define them."""
_ROOMS = ("lift", "lint", "plan")
"""Functions whose names are those of packages, too: the package is what can be called."""

__all__ = [  # noqa: PLE0604, F822
    "__version__",
    *_PUBLIC,
]


def __getattr__(name: str) -> Any:
    """Import what a public name needs, and return it."""
    if name in _ROOMS:
        return _imported(f"{__name__}.{name}")
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = _function(name)
    return found


def __dir__() -> list[str]:
    return sorted({*_PUBLIC, *(name for name in globals() if name.startswith("__"))})


def _imported(module: str) -> ModuleType:
    from importlib import import_module

    return import_module(module)


def _function(name: str) -> Any:
    return getattr(_imported(f"{__name__}.{_PUBLIC[name]}"), name)


class _Room(ModuleType):
    """A package that can be called as the function of the same name."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__wrapped__(*args, **kwargs)

    @property
    def __wrapped__(self) -> Any:
        return _function(self.__name__.rpartition(".")[2])

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return self.__wrapped__.__doc__  # type: ignore[no-any-return]


class _Package(ModuleType):
    """This package: `crosscast.lift` stays a function when the package `lift` is imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _ROOMS and type(value) is ModuleType:
            value.__class__ = _Room
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
