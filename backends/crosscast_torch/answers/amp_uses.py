"""The uses of torch.cuda.amp and torch.cpu.amp in a module, and whether they are one choice."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.pysource.programs.once import once
from crosscast_reading.pysource.syntax.nodes import dotted_text, walk

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Function, Module

PLACES = ("torch.cuda.amp", "torch.cpu.amp")
CLASSES = ("autocast", "GradScaler")
DECORATORS = ("custom_fwd", "custom_bwd")
ASKS = re.compile(r"version|available|hasattr|getattr|has_|can_", re.I)
"""Words of a condition that asks what is installed."""


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """An expression that names something of an old package: `amp.autocast`."""

    node: ast.Name | ast.Attribute
    name: str
    """The qualified name: `torch.cuda.amp.autocast`; `torch.cuda.amp` for the package itself."""
    substitute: str = ""
    """What the name is otherwise, if an import of it fails."""

    @property
    def what(self) -> str:
        """Return the last part of the name."""
        return self.name.rpartition(".")[2]

    @property
    def device(self) -> str:
        """Return the device of the package."""
        return self.name.split(".")[1]

    @property
    def is_known(self) -> bool:
        """Whether torch.amp has something of the same name."""
        place, _, what = self.name.rpartition(".")
        return place in PLACES and what in (*CLASSES, *DECORATORS)


def is_old(name: str) -> bool:
    """Whether a qualified name is an old package, or in it."""
    return name in PLACES or name.startswith(tuple(f"{place}." for place in PLACES))


def uses_of(module: Module) -> list[Use]:
    """Return the uses in the order of the text.

    Without those that the program makes only where the new name is missing.
    """
    uses: list[Use] = []
    taken = _taken_elsewhere(module)
    nodes: list[ast.Name | ast.Attribute] = [*module.every(ast.Name), *module.every(ast.Attribute)]
    for node in nodes:
        if isinstance(node.ctx, ast.Load) and not isinstance(module.parent(node), ast.Attribute):
            uses += list(_use(module, node, taken))
    return sorted(uses, key=lambda use: (use.node.lineno, use.node.col_offset))


def _taken_elsewhere(module: Module) -> set[str]:
    """Return the names that other files of the program import from an old package."""
    return {
        name
        for other in module.program.modules
        if other is not module
        for name, target in other.imports.items()
        if is_old(target)
    }


def _may_be_old(module: Module, written: str, taken: set[str]) -> bool:
    """Whether a dotted name may be in an old package; fast."""
    root, _, rest = written.partition(".")
    target = module.imports.get(root)
    if target is None:
        return bool(module.stars) and written in (*CLASSES, *DECORATORS)
    if target.partition(".")[0] == "torch":
        return is_old(f"{target}.{rest}" if rest else target)
    return not taken.isdisjoint((root, target.rpartition(".")[2], written.rpartition(".")[2]))


def _use(module: Module, node: ast.Name | ast.Attribute, taken: set[str]) -> Iterator[Use]:
    written = dotted_text(node)
    root = written.partition(".")[0]
    if not _may_be_old(module, written, taken):
        return
    names = module.resolve_all(node)
    old = [name for name in names if is_old(name)]
    what = old[0].rpartition(".")[2] if old else ""
    known = root in module.imports or (module.stars and written == what)
    if not old or not known or not (_is_of_torch(module, root) or passing(module, node)):
        return
    others = [name for name in names if not is_old(name)]
    if any(name.startswith("torch.") for name in others) or _is_other_choice(module, node, what):
        return
    if _is_question(module, node):
        return
    yield Use(node, old[0], others[0] if others else "")


def _is_question(module: Module, node: ast.expr) -> bool:
    """Whether a program only asks what a package has: `hasattr(torch.cuda.amp, "autocast")`."""
    call = module.parent(node)
    match call:
        case ast.Call(func=ast.Name(id="hasattr"), args=[first, ast.Constant()]):
            return first is node
        case ast.Call(func=ast.Name(id="getattr"), args=[first, ast.Constant(), *_]):
            return first is node and isinstance(module.parent(call), ast.Compare)
    return False


def _is_of_torch(module: Module, root: str) -> bool:
    """Whether a name is imported from torch in this module."""
    if root in module.imports:
        return module.imports[root].partition(".")[0] == "torch"
    return any(is_old(star) for star in module.stars)


def passing(module: Module, node: ast.Name | ast.Attribute) -> list[Module]:
    """Return the files from whose imports of an old package a name of another file may come."""
    written = dotted_text(node)
    root = written.partition(".")[0]
    if _is_of_torch(module, root):
        return []
    last = written.rpartition(".")[2]
    names = {root, last, module.imports.get(root, "").rpartition(".")[2]}
    return [
        other
        for other in module.program.modules
        if other is not module and any(is_old(other.imports.get(name, "")) for name in names)
    ]


def _is_other_choice(module: Module, node: ast.AST, what: str) -> bool:
    """Whether the program uses the new name instead, where there is one."""
    new = _calls_in(module).get((f"torch.amp.{what}", module.function_of(node)), ())
    return any(
        _decides(module, branch, node, call)
        for call in new
        for here in (node, call)
        for branch in _branches(module, here)
    )


@once
def _calls_in(module: Module) -> dict[tuple[str, Function | None], list[ast.Call]]:
    """Return the calls of a module by name and function."""
    calls: dict[tuple[str, Function | None], list[ast.Call]] = {}
    for call in module.calls:
        for name in call.names:
            calls.setdefault((name, module.function_of(call.node)), []).append(call.node)
    return calls


def _branches(module: Module, node: ast.AST) -> Iterator[ast.If | ast.IfExp | ast.Try]:
    """Yield the branches that decide about a node within its function, innermost first."""
    here = module.parent(node)
    while here is not None and not isinstance(here, ast.FunctionDef | ast.AsyncFunctionDef):
        if isinstance(here, ast.If | ast.IfExp | ast.Try):
            yield here
        here = module.parent(here)


def _decides(
    module: Module, branch: ast.If | ast.IfExp | ast.Try, node: ast.AST, other: ast.AST
) -> bool:
    """Whether a branch decides which of two nodes is evaluated."""
    within = [part for part in walk(branch) if part is node or part is other]
    if isinstance(branch, ast.Try):
        return len(within) > 1
    if ASKS.search(module.text(branch.test)):
        return True
    if len(within) < 2:
        return False
    first = branch.body if isinstance(branch.body, list) else [branch.body]
    chosen = [part for child in first for part in walk(child) if part is node or part is other]
    return len(chosen) == 1
