"""The names of TensorFlow in a module: its imports and their uses."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from crosscast.lint.outdated_apis import within_try
from crosscast.migrate.tensorflow1.moved_names import gone, moved
from crosscast.migrate.tensorflow1.v1_names import is_v1_name
from crosscast.pysource.names.lookup import bindings_of
from crosscast.pysource.programs.module import Module
from crosscast.pysource.programs.program import Program

_GUARDS = ("__version__", "VERSION", "hasattr(")
_V1 = "compat.v1"
PRIVATE = ("python", "core", "tools")
"""Places that `tf.compat.v1` does not mirror."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One name that an import of TensorFlow binds."""

    statement: ast.Import | ast.ImportFrom
    alias: ast.alias
    local: str
    path: str
    """What it is, without `tensorflow.` and `compat.v1.`; empty for TensorFlow itself."""
    plain: bool
    """Whether it is imported without `compat.v1`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One use of a name of TensorFlow."""

    node: ast.Name | ast.Attribute
    """The whole chain of attributes."""
    path: str
    bound: Import


def imports_of(module: Module) -> list[Import]:
    """Return the imports of TensorFlow, without those whose failure is handled."""
    found: list[Import] = []
    for statement in module.nodes:
        if isinstance(statement, ast.Import | ast.ImportFrom) and not _handled(module, statement):
            found += _imports(statement)
    return found


def _handled(module: Module, statement: ast.stmt) -> bool:
    return within_try(module, statement) or (
        module.enclosing(statement, ast.ExceptHandler) is not None
    )


def _imports(statement: ast.Import | ast.ImportFrom) -> Iterator[Import]:
    for alias in statement.names:
        if isinstance(statement, ast.Import):
            whole = alias.name if alias.asname else alias.name.partition(".")[0]
            local = alias.asname or whole
        else:
            whole = f"{statement.module or ''}.{alias.name}" if not statement.level else ""
            local = alias.asname or alias.name
        if whole.partition(".")[0] != "tensorflow" or whole.startswith("tensorflow.compat.v2"):
            continue
        path = whole.partition(".")[2]
        yield Import(
            statement=statement,
            alias=alias,
            local=local,
            path=without_v1(path),
            plain=without_v1(path) == path,
        )


def without_v1(path: str) -> str:
    """Return a name without a leading `compat.v1`."""
    return "" if path == _V1 else path.removeprefix(f"{_V1}.")


def uses_of(module: Module, imports: list[Import]) -> list[Use]:
    """Return the uses of what is imported, each with its whole chain of attributes."""
    by_local = {bound.local: bound for bound in imports}
    found: list[Use] = []
    for name in module.every(ast.Name):
        bound = by_local.get(name.id)
        if bound is None or not isinstance(name.ctx, ast.Load):
            continue
        chain: ast.Name | ast.Attribute = name
        parts: list[str] = []
        parent = module.parent(chain)
        while isinstance(parent, ast.Attribute):
            chain = parent
            parts.append(chain.attr)
            parent = module.parent(chain)
        path = ".".join(part for part in (bound.path, *parts) if part)
        found.append(Use(node=chain, path=without_v1(path), bound=bound))
    return found


def rebound(module: Module, imports: list[Import], uses: list[Use]) -> ast.AST | None:
    """Return where the name of an import is also given another meaning; None if nowhere.

    The name of an import that stays as it is, with all its uses, does not matter.
    """
    changed = {id(use.bound) for use in uses if moved(use.path)[0] or gone(use.path)[0]}
    locals_ = {
        bound.local
        for bound in imports
        if id(bound) in changed or bound.path.partition(".")[0] not in PRIVATE
    }
    for scope in module.scopes.values():
        for name in locals_ & scope.bindings.keys():
            for binding in scope.bindings[name]:
                if binding.kind != "import":
                    return binding.node
    return None


def written_for_v1(module: Module, uses: list[Use]) -> Use | None:
    """Return a use that only TensorFlow 1 has, outside of tests of the version; None if none."""
    for use in uses:
        if not use.bound.plain or _is_compat(module, use) or _guarded(module, use.node):
            continue
        if module.is_dead(use.node):
            continue
        new, _ = moved(use.path)
        dead = use.path.startswith("contrib.") and (new or gone(use.path)[0])
        if is_v1_name(use.path) or dead:
            return use
    return None


def is_for_v1(program: Program) -> bool:
    """Whether a program was written for TensorFlow 1, or already for `tf.compat.v1`."""
    whole: set[bool] = set()
    for module in program.modules:
        imports = imports_of(module)
        if written_for_v1(module, uses_of(module, imports)):
            return True
        whole |= {bound.plain for bound in imports if not bound.path}
    return whole == {False}


def _is_compat(module: Module, use: Use) -> bool:
    """Whether a name is written as `tf.compat.v1.name`."""
    return f".{_V1}." in f".{module.text(use.node)}."


def _texts_of(test: ast.expr, module: Module) -> Iterator[str]:
    """Yield the text of a condition, and of what was assigned to its names."""
    yield module.text(test)
    for name in ast.walk(test):
        if isinstance(name, ast.Name):
            for binding in bindings_of(name.id, name, module):
                if binding.value is not None:
                    yield binding.scope.module.text(binding.value)


def _guarded(module: Module, node: ast.AST) -> bool:
    """Whether a node is within a test of the version."""
    here = module.parent(node)
    while here is not None:
        if isinstance(here, ast.If | ast.IfExp) and any(
            word in text for text in _texts_of(here.test, module) for word in _GUARDS
        ):
            return True
        here = module.parent(here)
    return within_try(module, node)
