"""Uses of the experimental namespace of Keras's mixed precision, and their new names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Refusal
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import replace_node
from crosscast_tensorflow.migration.experimental.keras.edits import place_text
from crosscast_tensorflow.migration.experimental.keras.program import (
    chain_of,
    imported_as,
    own_choice,
)

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_KERAS = r"(?:tensorflow\.(?:_api\.v\d\.|compat\.v\d\.)*|)keras\.(?:api\.)?mixed_precision"
_OLD = re.compile(rf"{_KERAS}\.experimental(?:\.(?P<rest>[\w.]+))?")
_NEVER = re.compile(rf"{_KERAS}\.(?P<rest>set_policy)")
_PRIVATE = re.compile(r"tensorflow\.python\.keras\.mixed_precision\.experimental\b")
NEW = {
    "Policy": "Policy",
    "set_policy": "set_global_policy",
    "global_policy": "global_policy",
    "LossScaleOptimizer": "LossScaleOptimizer",
}
_LAYER_POLICY = "get_layer_policy"
_PACKAGE = "mixed_precision"


@dataclass(slots=True)
class Names:
    """The old names of one module."""

    module: Module
    places: dict[str, list[ast.expr]] = field(default_factory=dict)
    """Old name to its uses."""
    edits: list[Edit] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    first: ast.AST | None = None
    """The first use."""

    def used(self, name: str) -> list[ast.Call]:
        """Return the calls of an old name."""
        calls = (self.module.parent(node) for node in self.places.get(name, ()))
        return [
            call
            for call, node in zip(calls, self.places.get(name, ()), strict=True)
            if isinstance(call, ast.Call) and call.func is node
        ]


def names_in(module: Module) -> Names:
    """Return the old names in a module and the edits that replace them."""
    found = Names(module)
    if _PACKAGE not in module.source.text:
        return found
    for statement in module.nodes:
        if isinstance(statement, ast.Import | ast.ImportFrom) and not module.is_dead(statement):
            _import(statement, found)
    for node in module.nodes:
        if isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Load):
            parent = module.parent(node)
            whole = not (isinstance(parent, ast.Attribute) and parent.value is node)
            if whole and not module.is_dead(node):
                _use(node, found)
    return found


def _note(found: Names, node: ast.AST) -> None:
    if found.first is None:
        found.first = node


def _is_old(name: str) -> re.Match[str] | None:
    return _OLD.fullmatch(name) or _NEVER.fullmatch(name)


def _stable(name: str) -> str:
    """Return a dotted name without `experimental` and without private parts."""
    return re.sub(r"(_api\.v\d\.|compat\.v\d\.)", "", name).replace(".experimental", "")


def _import(statement: ast.Import | ast.ImportFrom, found: Names) -> None:
    module = found.module
    prefix = f"{statement.module}." if isinstance(statement, ast.ImportFrom) else ""
    if isinstance(statement, ast.ImportFrom) and (statement.level or not statement.module):
        return
    full = [prefix + alias.name for alias in statement.names]
    if any(_PRIVATE.match(name) for name in full):
        found.refusals.append(
            Refusal(
                span=module.span(statement),
                message="tensorflow.python.keras is private and no longer the Keras of TensorFlow",
                hint="import from tensorflow.keras",
            )
        )
        return
    old = [name for name in full if _is_old(name)]
    if not old or own_choice(module, statement, "set_global_policy"):
        return
    _note(found, statement)
    if isinstance(statement, ast.Import):
        for alias, name in zip(statement.names, full, strict=True):
            if name in old:
                text = _stable(name) + (f" as {alias.asname}" if alias.asname else "")
                found.edits.append(place_text(module, alias, text))
        return
    _import_from(statement, full, old, found)


def _import_from(statement: ast.ImportFrom, full: list[str], old: list[str], found: Names) -> None:
    module = found.module
    lasts = [name.rpartition(".")[2] for name in full]
    if len(old) < len(full) or (len(full) > 1 and "experimental" in lasts):
        return _refuse(found, statement, "the import has other names, too")
    if full[0].endswith(".experimental"):
        alias = statement.names[0]
        local = alias.asname or _PACKAGE
        if not alias.asname and _bound(module, _PACKAGE):
            local = alias.name
        text = f"from {_stable(full[0]).rpartition('.')[0]} import {_PACKAGE}"
        text += f" as {local}" if local != _PACKAGE else ""
        found.edits.append(replace_node(module, statement, text))
        return
    if not all(name in NEW for name in lasts):
        return _refuse(found, statement, "not every imported name has a stable name")
    names = ", ".join(
        NEW[alias.name] + (f" as {alias.asname}" if alias.asname else "")
        for alias in statement.names
    )
    text = f"from {_stable(statement.module or '')} import {names}"
    if statement.lineno != statement.end_lineno or len(text) + statement.col_offset > 100:
        return _by_parts(statement, found)
    found.edits.append(replace_node(module, statement, text))


def _by_parts(statement: ast.ImportFrom, found: Names) -> None:
    """Add the edits of a multi-line import and keep its layout and comments."""
    module = found.module
    row = module.lines[statement.lineno - 1]
    start = row.find(statement.module or "", statement.col_offset)
    if start < 0 or not row.isascii():
        return _refuse(found, statement, "the import has an unusual form")
    found.edits.append(
        Edit(
            file=module.source.name,
            line=statement.lineno,
            column=start + 1,
            end_line=statement.lineno,
            end_column=start + 1 + len(statement.module or ""),
            text=_stable(statement.module or ""),
        )
    )
    for alias in statement.names:
        if NEW[alias.name] != alias.name:
            text = NEW[alias.name] + (f" as {alias.asname}" if alias.asname else "")
            found.edits.append(place_text(module, alias, text))


def _refuse(found: Names, node: ast.stmt, why: str) -> None:
    found.refusals.append(
        Refusal(
            span=found.module.span(node),
            message=f"this import of the experimental mixed precision is not changed: {why}",
            hint="write the imports by hand; the stable names are Policy, set_global_policy, "
            "global_policy and LossScaleOptimizer of tensorflow.keras.mixed_precision",
        )
    )


def _bound(module: Module, name: str) -> bool:
    return name in module.imports or any(name in s.bindings for s in module.scopes.values())


def _use(node: ast.Attribute | ast.Name, found: Names) -> None:
    module = found.module
    source = imported_as(node, module)
    if source is None:
        return
    target, rest = source
    match = _old_prefix(".".join([target, *rest]))
    if match is None or own_choice(module, node, "set_global_policy"):
        return
    name, extra = match
    if not name:
        return _odd(node, found)
    _note(found, node)
    found.places.setdefault(name, []).append(node)
    if name == _LAYER_POLICY:
        return _layer_policy(node, found)
    if name not in NEW:
        return _odd(node, found)
    parts = chain_of(node)
    own = len(rest) - len(extra)  # attributes up to the old name
    if own == 0:  # the name itself was imported
        new = [parts[0] if parts[0] != name else NEW[name]]
    elif parts[own - 1] == "experimental" and own - 1 > 0:
        new = [*parts[: own - 1], NEW[name]]
    elif own == 1 and target.endswith(".experimental"):
        local = parts[0]
        if local == "experimental" and not _bound(module, _PACKAGE):
            local = _PACKAGE
        new = [local, NEW[name]]
    else:
        new = [*parts[:own], NEW[name]]
    text = ".".join([*new, *extra])
    if text != ".".join(parts):
        found.edits.append(replace_node(module, node, text))


def _old_prefix(name: str) -> tuple[str, list[str]] | None:
    """Return the old name in a dotted name (empty if incomplete) and the parts after it."""
    never = re.match(rf"{_KERAS}\.set_policy$", name)
    if never:
        return "set_policy", []
    found = _OLD.fullmatch(name)
    if found is None:
        return None
    rest = (found["rest"] or "").split(".")
    return rest[0], rest[1:]


def _odd(node: ast.expr, found: Names) -> None:
    _note(found, node)
    found.refusals.append(
        Refusal(
            span=found.module.span(node),
            message=f"{found.module.text(node)} has no counterpart in Keras 3",
            hint="use the names of tf.keras.mixed_precision",
        )
    )


def _layer_policy(node: ast.expr, found: Names) -> None:
    """`get_layer_policy(layer)` is `layer.dtype_policy`."""
    module = found.module
    call = module.parent(node)
    simple = (
        isinstance(call, ast.Call)
        and call.func is node
        and len(call.args) == 1
        and not call.keywords
        and isinstance(call.args[0], ast.Name | ast.Attribute | ast.Subscript)
    )
    if not simple or isinstance(node, ast.Name):
        return _odd(node, found)
    assert isinstance(call, ast.Call)
    text = f"{ast.unparse(call.args[0])}.dtype_policy"
    found.edits.append(replace_node(module, call, text))


def all_names(modules: tuple[Module, ...]) -> Iterator[Names]:
    """Yield the old names of every module that uses any."""
    for module in modules:
        found = names_in(module)
        if found.first is not None or found.refusals:
            yield found
