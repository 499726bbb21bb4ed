"""The names of TensorFlow in a module: its imports and their uses."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from crosscast_reading.lint.outdated_apis import within_try
from crosscast_reading.pysource.names.lookup import bindings_of
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.programs.scopes import Scope
from crosscast_tensorflow.migration.experimental.tensorflow1.eager_forms import plain_path
from crosscast_tensorflow.migration.experimental.tensorflow1.moved_names import gone, moved
from crosscast_tensorflow.migration.experimental.tensorflow1.v1_names import is_v1_name

_GUARDS = ("__version__", "VERSION", "hasattr(")
_V1 = "compat.v1"
PRIVATE = ("python", "core", "tools")
"""Places that `tf.compat.v1` does not mirror."""

_OF_ANY_MODE = (
    "__version__", "app", "compat.as_bytes", "compat.as_str", "compat.as_str_any",
    "compat.as_text", "errors", "flags", "gfile", "io.TFRecordWriter", "io.gfile",
    "io.tf_record_iterator", "logging", "python_io", "train.BytesList", "train.Example",
    "train.Feature", "train.FeatureList", "train.FeatureLists", "train.Features",
    "train.FloatList", "train.Int64List", "train.SequenceExample",
)  # fmt: skip


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
    starred: bool = False
    """Whether another module of the program imports it, and all of that module is imported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One use of a name of TensorFlow."""

    node: ast.Name | ast.Attribute
    """The whole chain of attributes."""
    path: str
    bound: Import


def imports_of(module: Module) -> list[Import]:
    """Return the imports of TensorFlow, without those whose failure is handled.

    `from common import *` is one, too, if that module of the program imports TensorFlow.
    """
    return [*_own_imports(module), *_starred(module, (module,))]


def _own_imports(module: Module) -> list[Import]:
    found: list[Import] = []
    for statement in module.nodes:
        if isinstance(statement, ast.Import | ast.ImportFrom) and not _handled(module, statement):
            found += _imports(statement)
    return found


def _starred(module: Module, above: tuple[Module, ...]) -> Iterator[Import]:
    for statement in module.tree.body:
        if not isinstance(statement, ast.ImportFrom) or statement.names[0].name != "*":
            continue
        name = "." * statement.level + (statement.module or "")
        other = module.program.find_module(name, module) if module.stars else None
        if other is None or other in above:
            continue
        for bound in (*_own_imports(other), *_starred(other, (*above, other))):
            if _is_handed_on(bound, other) and bound.local not in module.scope.bindings:
                yield replace(bound, statement=statement, alias=statement.names[0], starred=True)


def _is_handed_on(bound: Import, module: Module) -> bool:
    """Whether `from module import *` gives a name that the module imports."""
    listed = {
        node.value
        for binding in module.scope.bindings.get("__all__", ())
        for node in (ast.walk(binding.value) if binding.value is not None else ())
        if isinstance(node, ast.Constant)
    }
    if "__all__" in module.scope.bindings:
        return bound.local in listed
    top = bound.statement in module.tree.body
    return top and not bound.local.startswith("_") and bound.local != "*"


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
            path=plain_path(without_v1(path)),
            plain=without_v1(path) == path,
        )


def without_v1(path: str) -> str:
    """Return a name without a leading `compat.v1`."""
    return "" if path == _V1 else path.removeprefix(f"{_V1}.")


def uses_of(module: Module, imports: list[Import]) -> list[Use]:
    """Return the uses of what is imported, each with its whole chain of attributes."""
    by_local: dict[str, list[Import]] = {}
    for bound in imports:
        by_local.setdefault(bound.local, []).append(bound)
    found: list[Use] = []
    for name in module.every(ast.Name):
        if name.id not in by_local or not isinstance(name.ctx, ast.Load):
            continue
        meant = _meant(name, by_local[name.id], module)
        if meant is None:
            continue
        bound = meant
        chain: ast.Name | ast.Attribute = name
        parts: list[str] = []
        parent = module.parent(chain)
        while isinstance(parent, ast.Attribute):
            chain = parent
            parts.append(chain.attr)
            parent = module.parent(chain)
        path = ".".join(part for part in (bound.path, *parts) if part)
        found.append(Use(node=chain, path=plain_path(without_v1(path)), bound=bound))
    return found


def is_unneeded(bound: Import, module: Module, uses: Sequence[Use]) -> bool:
    """Whether nothing uses an import of what is gone: neither its module nor another one."""
    if bound.alias.name == "*" or bound.starred or moved(bound.path)[0] or not gone(bound.path)[0]:
        return False
    if any(use.bound is bound for use in uses) or "__all__" in module.scope.bindings:
        return False
    own = module.name.rpartition(".")[2]
    for other in module.program.modules:
        if other is module:
            continue
        if any(module.program.find_module(star, other) is module for star in other.stars):
            return False
        taken = f".{own}.{bound.local}"
        if f"{own}.{bound.local}" in other.source.text or any(
            f".{target}".endswith(taken) for target in other.imports.values()
        ):
            return False
    return True


def _meant(name: ast.Name, imports: list[Import], module: Module) -> Import | None:
    """Return the import that a name means; None if a nearer scope gives it another meaning."""
    scope = module.scope_of(name).lookup(name.id)
    if scope is None:
        return imports[-1]
    same = [bound for bound in imports if _home(bound, module) is scope]
    return same[-1] if same else None


def _home(bound: Import, module: Module) -> Scope | None:
    """Return the scope that an import binds its name in; None if another module hands it on."""
    return None if bound.starred else module.scope_of(bound.statement).home(bound.local)


def rebound(module: Module, imports: list[Import], uses: list[Use]) -> ast.AST | None:
    """Return where the name of an import is also given another meaning; None if nowhere.

    The name of an import that stays as it is, with all its uses, does not matter. In a function of
    its own a name matters if it has attributes like those of the import: perhaps it gets that.
    """
    changed = {id(use.bound) for use in uses if moved(use.path)[0] or gone(use.path)[0]}
    for bound in imports:
        if id(bound) not in changed and bound.path.partition(".")[0] in PRIVATE:
            continue
        home = _home(bound, module)
        for scope in module.scopes.values():
            for binding in scope.bindings.get(bound.local, ()):
                if binding.kind != "import" and (
                    scope is home or _may_be(bound, binding.scope, module)
                ):
                    return binding.node
    return None


def _may_be(bound: Import, scope: Scope, module: Module) -> bool:
    """Whether a name of a scope may have been given what an import is."""
    for name in module.every(ast.Name):
        attribute = module.parent(name)
        if name.id == bound.local and isinstance(attribute, ast.Attribute):
            path = f"{bound.path}.{attribute.attr}".removeprefix(".")
            old = is_v1_name(path) or path == "contrib" or moved(path)[0] or gone(path)[0]
            if old and module.scope_of(name).lookup(name.id) is scope:
                return True
    return False


def certain_uses(module: Module) -> Iterator[Use]:
    """Yield what runs with any release: not by `compat.v1`, nor within a test of the version."""
    for use in uses_of(module, imports_of(module)):
        if not use.bound.plain or _is_compat(module, use) or is_chosen(module, use.node):
            continue
        if not module.is_dead(use.node):
            yield use


def signs_of_v1(module: Module) -> Iterator[Use]:
    """Yield the uses of what only TensorFlow 1 has, outside of tests of the version."""
    for use in certain_uses(module):
        new, _ = moved(use.path)
        dead = use.path.startswith("contrib.") and (new or gone(use.path)[0])
        if is_v1_name(use.path) or dead:
            yield use


def needs_mode(uses: Iterable[Use]) -> bool:
    """Whether any of some uses may depend on whether TensorFlow 2 behaves as TensorFlow 1."""
    return any(
        not any(use.path == name or use.path.startswith(f"{name}.") for name in _OF_ANY_MODE)
        for use in uses
    )


def is_for_v1(program: Program) -> bool:
    """Whether a program was written for TensorFlow 1, or already for `tf.compat.v1`."""
    whole: set[bool] = set()
    for module in program.modules:
        if any(signs_of_v1(module)):
            return True
        whole |= {bound.plain for bound in imports_of(module) if not bound.path}
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


def is_chosen(module: Module, node: ast.AST) -> bool:
    """Whether a node is within a test of the version, or its failure is handled."""
    here = module.parent(node)
    while here is not None:
        if isinstance(here, ast.If | ast.IfExp) and any(
            word in text for text in _texts_of(here.test, module) for word in _GUARDS
        ):
            return True
        here = module.parent(here)
    return within_try(module, node)
