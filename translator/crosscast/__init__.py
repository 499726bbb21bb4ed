"""crosscast: one training recipe, compiled to PyTorch, TensorFlow/Keras and Paddle.

`import crosscast as cc` offers every command as a function, see docs/reference/python.md. What a
name needs is imported when the name is used first.
"""

from __future__ import annotations

import sys
from types import ModuleType

TYPE_CHECKING = False  # importing `typing` would take longer than all of this
if TYPE_CHECKING:  # what type checkers and editors see
    from typing import Any

    from crosscast.api.comparing import Diff as Diff
    from crosscast.api.comparing import diff as diff
    from crosscast.api.compiling import Compilation as Compilation
    from crosscast.api.compiling import FieldVerdict as FieldVerdict
    from crosscast.api.compiling import compile as compile
    from crosscast.api.datasets import EncodedData as EncodedData
    from crosscast.api.datasets import SyntheticData as SyntheticData
    from crosscast.api.datasets import data_jsonl as data_jsonl
    from crosscast.api.datasets import data_nli_synthetic as data_nli_synthetic
    from crosscast.api.datasets import data_tsv as data_tsv
    from crosscast.api.datasets import data_xnli as data_xnli
    from crosscast.api.drifting import Drift as Drift
    from crosscast.api.drifting import drift as drift
    from crosscast.api.explaining import Explanation as Explanation
    from crosscast.api.explaining import explain as explain
    from crosscast.api.exploring import Exploration as Exploration
    from crosscast.api.exploring import explore as explore
    from crosscast.api.files import Files as Files
    from crosscast.api.lifting import Lift as Lift
    from crosscast.api.lifting import LiftedRun as LiftedRun
    from crosscast.api.lifting import lift as lift
    from crosscast.api.linting import Lint as Lint
    from crosscast.api.linting import LintRules as LintRules
    from crosscast.api.linting import lint as lint
    from crosscast.api.linting import lint_rules as lint_rules
    from crosscast.api.migrated import Migration as Migration
    from crosscast.api.migrated_across import Across as Across
    from crosscast.api.migrated_in_place import InPlace as InPlace
    from crosscast.api.migrating import AllowedChanges as AllowedChanges
    from crosscast.api.migrating import migrate as migrate
    from crosscast.api.migrating import migrate_changes as migrate_changes
    from crosscast.api.parity import parity as parity
    from crosscast.api.parity_result import Parity as Parity
    from crosscast.api.planning import MemoryPlan as MemoryPlan
    from crosscast.api.planning import plan as plan
    from crosscast.api.recipes import Check as Check
    from crosscast.api.recipes import LoadedRecipe as LoadedRecipe
    from crosscast.api.recipes import check as check
    from crosscast.api.recipes import load as load
    from crosscast.api.recipes import loads as loads
    from crosscast.api.recipes import show as show
    from crosscast.api.result import Result as Result
    from crosscast.api.scaling import Scaling as Scaling
    from crosscast.api.scaling import check_scaling as check_scaling
    from crosscast.api.states import State as State
    from crosscast.api.states import state_convert as state_convert
    from crosscast.api.states import state_show as state_show
    from crosscast.api.supporting import Machine as Machine
    from crosscast.api.supporting import Matrix as Matrix
    from crosscast.api.supporting import doctor as doctor
    from crosscast.api.supporting import init as init
    from crosscast.api.supporting import matrix as matrix
    from crosscast.api.supporting import schema as schema
    from crosscast.api.sweeping import Sweep as Sweep
    from crosscast.api.sweeping import sweep as sweep
    from crosscast.api.tracing import TraceExport as TraceExport
    from crosscast.api.tracing import trace_export as trace_export
    from crosscast.api.weights import Weights as Weights
    from crosscast.api.weights import weights_check as weights_check
    from crosscast.api.weights import weights_match as weights_match
    from crosscast.messages.code import Exit as Exit
    from crosscast.messages.diagnostics import Diagnostic as Diagnostic
    from crosscast.messages.diagnostics import DiagnosticError as DiagnosticError
    from crosscast.messages.diagnostics import Severity as Severity
    from crosscast.messages.diagnostics import Span as Span

__version__ = "0.1.0"

_MODULES = {
    "api.comparing": "Diff diff",
    "api.compiling": "Compilation FieldVerdict compile",
    "api.datasets": "EncodedData SyntheticData data_jsonl data_nli_synthetic data_tsv data_xnli",
    "api.drifting": "Drift drift",
    "api.explaining": "Explanation explain",
    "api.exploring": "Exploration explore",
    "api.files": "Files",
    "api.lifting": "Lift LiftedRun lift",
    "api.linting": "Lint LintRules lint lint_rules",
    "api.migrated": "Migration",
    "api.migrated_across": "Across",
    "api.migrated_in_place": "InPlace",
    "api.migrating": "AllowedChanges migrate migrate_changes",
    "api.parity": "parity",
    "api.parity_result": "Parity",
    "api.planning": "MemoryPlan plan",
    "api.recipes": "Check LoadedRecipe check load loads show",
    "api.result": "Result",
    "api.scaling": "Scaling check_scaling",
    "api.states": "State state_convert state_show",
    "api.supporting": "Machine Matrix doctor init matrix schema",
    "api.sweeping": "Sweep sweep",
    "api.tracing": "TraceExport trace_export",
    "api.weights": "Weights weights_check weights_match",
    "messages.code": "Exit",
    "messages.diagnostics": "Diagnostic DiagnosticError Severity Span",
}
"""Modules and the public names that they define."""
_PUBLIC = {name: module for module, names in _MODULES.items() for name in names.split()}
_ROOMS = ("drift", "explore", "plan")
"""Functions whose names are those of packages, too: the package is what can be called."""

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    """Import what a public name needs, and return it."""
    if name in _ROOMS:
        return _imported(f"{__name__}.{name}")
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    function = globals()[name] = _function(name)
    return function


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
    """This package: `crosscast.plan` stays a function when the package `plan` is imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _ROOMS and type(value) is ModuleType:
            value.__class__ = _Room
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
