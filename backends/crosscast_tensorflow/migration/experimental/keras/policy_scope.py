"""Determines whether a policy applies wherever a program creates and compiles its models."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.readers.python.conditions import conditions
from crosscast_reading.readers.python.library_calls import calls_of, canonical
from crosscast_tensorflow.migration.experimental.keras.program import compiles, maker_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_tensorflow.migration.experimental.keras.experimental import Names

_DEPTH = 4
_MOST = 8
_RUNS = re.compile(r"(absl|tensorflow(\.compat\.v1)?)\.app\.run")
_MAKES = re.compile(r"keras\.(layers\.[A-Z]\w*|Sequential|Model|Input|applications\.\w+\.[A-Z]\w*)")
_OPTIONAL = (ast.If, ast.IfExp, ast.BoolOp, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.Match)
_LATER = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.TryStar)


@dataclass(frozen=True, slots=True)
class _Level:
    """A step on the path of calls from module level to a node."""

    module: Module
    home: ast.AST
    """The function or module of the block."""
    node: ast.AST
    """The call to the next level, or the node itself."""

    @property
    def place(self) -> tuple[int, int]:
        """Line and column."""
        return (getattr(self.node, "lineno", 0), getattr(self.node, "col_offset", 0))


def setter_of(policy: ast.Call, module: Module, named: list[Names]) -> ast.Call | None:
    """Return the program's only call that sets a policy, if it sets this one."""
    calls = [(names.module, call) for names in named for call in names.used("set_policy")]
    if len(calls) != 1:
        return None
    home, call = calls[0]
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    made = maker_of(given[0], home) if len(given) == 1 else None
    return call if made is not None and made.node is policy and made.module is module else None


def unless(setter: ast.Call, module: Module, program: Program) -> str:
    """Return why a policy may not apply where models are created; empty if it certainly does."""
    path = _only_path(setter, module, program)
    if path is None:
        return "is only set under a condition"
    left: list[int] = []
    for depth, level in enumerate(path):
        if _is_optional(level):
            return "is only set under a condition"
        around = conditions(level.node, level.module, callers=False)
        left += [depth] if any(branch.left is not None for branch in around) else []
    for call in compiles(program):
        ways = _paths(call.node, call.module, program, 0)
        if ways is None and len(path) == 1:
            continue  # set during the import, before any function of the module runs
        if ways is None:
            return "may not be set where a model is compiled"
        for way in ways:
            shared = _shared(path, way)
            if shared < 0 or not path[shared].place < way[shared].place:
                return "may not be set where a model is compiled"
            if any(depth > shared for depth in left):
                return "is only set under a condition"
    for name, call in calls_of(program):
        if _MAKES.fullmatch(canonical(name)):
            for way in _paths(call.node, call.module, program, 0) or ():
                shared = _shared(path, way)
                if shared >= 0 and way[shared].place < path[shared].place:
                    return "is set after the first layers of a model"
    return ""


def _shared(path: list[_Level], way: list[_Level]) -> int:
    """Return the depth at which two paths diverge; -1 if they begin in different modules."""
    depth = -1
    for step, other in zip(path, way, strict=False):
        if step.home is not other.home:
            break
        depth += 1
        if step.node is not other.node:
            break
    return depth


def _is_optional(level: _Level) -> bool:
    """Whether a node may be skipped when its block runs, or be reached later."""
    here = level.module.parent(level.node)
    while here is not None and here is not level.home:
        if isinstance(here, ast.If) and _is_main(here):
            here = level.module.parent(here)
            continue
        if isinstance(here, (*_OPTIONAL, *_LATER, ast.FunctionDef, ast.AsyncFunctionDef)):
            return True
        here = level.module.parent(here)
    return False


def _is_main(node: ast.If) -> bool:
    """Whether a condition is `__name__ == "__main__"`."""
    match node.test:
        case ast.Compare(
            left=ast.Name(id="__name__"),
            ops=[ast.Eq()],
            comparators=[ast.Constant(value="__main__")],
        ):
            return True
    return False


def _only_path(node: ast.AST, module: Module, program: Program) -> list[_Level] | None:
    """Return the only path from module level to a node; None if there are several or none."""
    ways = _paths(node, module, program, 0)
    return ways[0] if ways is not None and len(ways) == 1 else None


def _paths(
    node: ast.AST, module: Module, program: Program, depth: int
) -> list[list[_Level]] | None:
    """Return every path from module level to a node; None if one is not visible."""
    function = module.function_of(node)
    if function is None:
        return [[_Level(module, module.tree, node)]]
    sites = list(_sites(function, module, program))
    if not sites or depth >= _DEPTH:
        return None
    found: list[list[_Level]] = []
    for home, call in sites:
        ways = _paths(call, home, program, depth + 1)
        if ways is None or len(found) + len(ways) > _MOST:
            return None
        found += [[*way, _Level(module, function, node)] for way in ways]
    return found


def _sites(
    function: Function, module: Module, program: Program
) -> Iterator[tuple[Module, ast.Call]]:
    """Yield the calls of a function, including `app.run(main)`."""
    for site in program.call_sites(module, function):
        if site.module.function_of(site.node) is not function:
            yield site.module, site.node
    for name, call in calls_of(program):
        if (
            call.module is module
            and _RUNS.fullmatch(name)
            and _first_name(call.node) == function.name
        ):
            yield module, call.node


def _first_name(call: ast.Call) -> str:
    """Return the name in the first argument of a call."""
    first = call.args[0] if call.args else None
    return first.id if isinstance(first, ast.Name) else ""
