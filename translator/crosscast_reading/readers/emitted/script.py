"""A script that crosscast emits, as data: its constants and the text of its functions.

Such a script is built of the same functions on every framework, and every number of its recipe is
a constant or a keyword of `SETTINGS = Settings(...)`. Nothing but its code is looked at; the
package `runtime` beside it is the same for every recipe.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from crosscast.messages.diagnostics import Span
from crosscast.messages.source import Source
from crosscast_reading.facts.fact import Fact, Plain
from crosscast_reading.pysource.syntax.nodes import identifier, walk

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

FUNCTIONS = frozenset({"train_window", "micro_batch_loss", "make_optimizer", "make_state"})
CONSTANTS = frozenset({"SETTINGS", "LEARNING_RATE"})
MADE = frozenset({"make_loader", "make_optimizer", "make_schedule"})
"""Functions that are emitted with the configuration of a layer on PyTorch."""
MADE_CONSTANTS = frozenset({"MICRO_BATCH_SIZE", "ACCUMULATION_STEPS", "WINDOWS", "LEARNING_RATE"})
NAME = "emitted"
RUNTIME = "runtime"
"""Package beside a script, whose text does not depend on the recipe."""
_STEP = frozenset({"train_window", "make_optimizer"})
"""Functions of emitted scripts and of a training step that is emitted alone."""
_SCALES = frozenset({"INIT_SCALE", "LOSS_SCALE"})
_MADE_FOR = re.compile(
    r": training step for PyTorch ([\d.]+) to \d[\d.]*\.\n\nWritten by crosscast "
)


@dataclass(slots=True)
class Script:
    """The modules of one emitted script, merged; without those of its runtime."""

    modules: tuple[Module, ...]
    constants: dict[str, Any] = field(default_factory=dict)
    """Values of constants, and of settings as `SETTINGS.name`."""
    places: dict[str, Span] = field(default_factory=dict)
    """Place of every constant, setting and function."""
    functions: dict[str, str] = field(default_factory=dict)
    """Normalized text of every function and class, without comments."""

    def __post_init__(self) -> None:
        for module in self.own:
            for statement in module.tree.body:
                self._take(statement, module)

    @property
    def own(self) -> tuple[Module, ...]:
        """The modules besides those of the runtime."""
        return tuple(module for module in self.modules if not _is_runtime(module))

    def _take(self, statement: ast.stmt, module: Module) -> None:
        match statement:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="Settings")) as call
            ):
                self.places[name] = module.span(statement)
                for keyword in call.keywords:
                    self._keep(f"{name}.{keyword.arg}", keyword.value, module.span(keyword))
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name.isupper():
                self._keep(name, value, module.span(statement))
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                self.functions[name] = code_of(statement)
                self.places[name] = module.span(statement)

    def _keep(self, name: str, value: ast.expr, place: Span) -> None:
        """Keep plain data, or what an earlier constant holds."""
        if isinstance(value, ast.Name) and value.id in self.constants:
            self.constants[name] = self.constants[value.id]
            self.places[name] = self.places[value.id]
            return
        known, plain = literal(value)
        if known:
            self.constants[name], self.places[name] = plain, place

    @property
    def is_emitted(self) -> bool:
        """Whether it has the functions and constants that every emitted script has."""
        return self.functions.keys() >= FUNCTIONS and self.places.keys() >= CONSTANTS

    @property
    def is_configuration(self) -> bool:
        """Whether it was emitted for a layer: Accelerate, Lightning, Fabric."""
        return self.functions.keys() >= MADE and self.constants.keys() >= MADE_CONSTANTS

    def text(self, *names: str) -> str:
        """Return the text of functions; missing ones are skipped."""
        return "\n".join(self.functions[name] for name in names if name in self.functions)

    def all_text(self) -> str:
        """Return the text of all functions."""
        return "\n".join(self.functions.values())

    def constant(self, path: str, *names: str) -> Iterator[Fact]:
        """Yield the fact that a field has the value of the first constant the script defines."""
        name = next((name for name in names if name in self.constants), None)
        if name is not None:
            yield self.fact(path, self.constants[name], name, origin="constant")

    def imports(self) -> Iterator[tuple[str, str]]:
        """Yield every import: its name here, and `module:function`."""
        for module in self.modules:
            for statement in module.tree.body:
                match statement:
                    case ast.ImportFrom(module=str(place), names=aliases):
                        for alias in aliases:
                            yield alias.asname or alias.name, f"{place}:{alias.name}"

    def imported(self, name: str) -> str:
        """Return the `module:function` that is imported under a name; empty if none is."""
        return next((place for own, place in self.imports() if own == name), "")

    def named(self, constant: str) -> dict[str, str]:
        """Return a constant that is a dict of imported functions: key to `module:function`."""
        places = dict(self.imports())
        for module in self.modules:
            for statement in module.tree.body:
                match statement:
                    case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict() as made) if (
                        name == constant
                    ):
                        values = {
                            str(key.value): identifier(value)
                            for key, value in zip(made.keys, made.values, strict=True)
                            if isinstance(key, ast.Constant)
                        }
                        return {k: places[name] for k, name in values.items() if name in places}
        return {}

    def fact(self, path: str, value: Any, *where: str, origin: str = "presence") -> Fact:
        """Return the fact that a recipe field has a value, shown by constants and functions.

        What none of them shows follows from the script as a whole, and is placed at its start.
        """
        places = tuple(self.places[name] for name in where if name in self.places)
        plain: Plain | tuple[Plain, ...] = tuple(value) if isinstance(value, list) else value
        return Fact(
            field=f"recipe.{path}",
            value=plain,
            places=places or (Span(self.own[0].source.name, 1, 1),),
            origin=origin,  # type: ignore[arg-type]
            reader=NAME,
        )


def _is_runtime(module: Module) -> bool:
    return PurePath(module.source.name).parent.name == RUNTIME


def code_of(node: ast.AST) -> str:
    """Return the normalized code of a statement, without comments and docstrings."""
    code = ast.unparse(node)
    for inner in walk(node):
        if isinstance(inner, ast.FunctionDef | ast.ClassDef):
            text = ast.get_docstring(inner, clean=False)
            if text is not None:
                code = code.replace(f'"""{text}"""', "", 1)
    return code


def literal(node: ast.expr) -> tuple[bool, Any]:
    """Return whether an expression is plain data, and the data; names of types are their names."""
    if isinstance(node, ast.Attribute):
        name = ast.unparse(node)
        return True, math.inf if name == "math.inf" else name.rpartition(".")[2]
    try:
        return True, ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False, None


def is_emitted(modules: Iterable[Module]) -> bool:
    """Return whether crosscast emitted these modules, as a script or a step; cheap."""
    names = {name for module in modules for name in _names(module)}
    whole = names >= FUNCTIONS | CONSTANTS
    return whole or (names >= _STEP | {"TrainState", "LEARNING_RATE"})


def scales_nothing(modules: Iterable[Module]) -> bool:
    """Return whether an emitted script comes from a recipe without loss scaling."""
    modules = tuple(modules)
    names = {name for module in modules for name in _names(module)}
    return is_emitted(modules) and not names & _SCALES


def _names(module: Module) -> Iterator[str]:
    for statement in module.tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name


def made_for(sources: Iterable[Source]) -> dict[str, str]:
    """Return the package versions that an emitted step names; scripts have requirements.txt."""
    heads = (_MADE_FOR.search(source.text[:400]) for source in sources)
    return next(({"torch": head[1]} for head in heads if head), {})
