"""Names of Keras 2 in a module: imports and uses."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Refusal
from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_tensorflow.migration.experimental.keras.program import (
    chain_of,
    imported_as,
    own_choice,
)
from crosscast_tensorflow.migration.experimental.keras_names import present
from crosscast_tensorflow.migration.experimental.keras_names.outcomes import Outcomes
from crosscast_tensorflow.migration.experimental.keras_names.table import GONE, MOVED, PACKAGES

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_MOVED = {row.old: row for row in MOVED if not row.library}
_ONLY_HERE = {
    library: {row.old: row for row in MOVED if row.library == library}
    for library in ("tensorflow", "keras")
}
_GONE = {row.old: row for row in GONE}
_WORDS = ("keras.layers.", "keras.engine", "legacy", "experimental", "Reduction", "utils",
          "backend", "wrappers", "CuDNN", "LocallyConnected", "AbstractRNNCell",
          "DenseFeatures", "estimator", "K.", "losses", "metrics", "saving", "constraints",
          "callbacks", "model_from", "applications", "mixed_precision")  # fmt: skip


def names(module: Module, out: Outcomes) -> None:
    """Add the edits and refusals of the old names in a module."""
    if not any(word in module.source.text for word in _WORDS):
        return
    for statement in module.every(ast.ImportFrom):
        if not statement.level and statement.module and not module.is_dead(statement):
            _import_from(statement, module, out)
    for node in module.nodes:
        if isinstance(node, ast.Import) and not module.is_dead(node):
            _import(node, module, out)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            parent = module.parent(node)
            whole = not (isinstance(parent, ast.Attribute) and parent.value is node)
            if whole and not module.is_dead(node):
                _use(node, module, out)


def _short(name: str) -> str:
    """Return the canonical name of something in Keras; empty for other libraries."""
    short = canonical(name)
    return short if short.startswith("keras.") and not name.startswith("tf_keras.") else ""


def _import(statement: ast.Import, module: Module, out: Outcomes) -> None:
    for alias in statement.names:
        new = PACKAGES.get(_short(alias.name))
        if new and alias.asname and not own_choice(module, statement, new):
            prefix = alias.name.removesuffix(_short(alias.name))
            text = f"{prefix}{new} as {alias.asname}"
            out.edits.append(replace_node(module, alias, text))  # type: ignore[arg-type]


def _import_from(statement: ast.ImportFrom, module: Module, out: Outcomes) -> None:
    source = statement.module or ""
    full = [f"{source}.{alias.name}" for alias in statement.names]
    short = [_short(name) for name in full]
    for alias, name in zip(statement.names, short, strict=True):
        if name in _GONE and not own_choice(module, statement, "keras"):
            _gone(alias, name, module, out)
    new = [_new(name) for name in full]
    if not any(new) or own_choice(module, statement, "optimizers"):
        return
    if {name.rpartition(".")[0] for name in new if name} == {_short(source)}:
        new = [name or old for name, old in zip(new, short, strict=True)]
    homes = {name.rpartition(".")[0] for name in new}
    if not all(new) or len(homes) > 1:
        out.refuse(
            module,
            statement,
            "the import has moved names and others",
            f"import {', '.join(name for name in new if name)} in a statement of their own",
        )
        return
    prefix = full[0].removesuffix(short[0])
    texts = []
    for alias, name in zip(statement.names, new, strict=True):
        last = name.rpartition(".")[2]
        local = alias.asname or alias.name
        texts.append(last if local == last else f"{last} as {local}")
    home = homes.pop()
    text = f"from {prefix}{home} import {', '.join(texts)}"
    if statement.lineno != statement.end_lineno:
        text = f"from {prefix}{home} import ({', '.join(texts)})"
    out.edits.append(replace_node(module, statement, text))


def moved_name(name: str) -> str:
    """Return the canonical name in Keras 3 of a name, written with its library; empty if none.

    Without a row it is that of the module around: `keras.layers.noise.GaussianNoise`.
    """
    library, short = name.partition(".")[0], _short(name)
    row = _MOVED.get(short) or _ONLY_HERE.get(library, {}).get(short)
    if row is not None or short.count(".") < 3:
        return row.new if row is not None else ""
    home, sub, last = ".".join(short.split(".")[:2]), short.split(".")[2], short.rpartition(".")[2]
    there = present.public(home) or frozenset()
    if sub in there or last not in there or home == "keras.backend" or short in _GONE:
        return ""
    absent = library == "keras" and last in present.of_tensorflow(home)
    return "" if absent else f"{home}.{last}"


def _new(name: str) -> str:
    return moved_name(name) or PACKAGES.get(_short(name), "")


def _use(node: ast.Attribute, module: Module, out: Outcomes) -> None:
    source = imported_as(node, module)
    if source is None:
        return
    target, rest = source
    for length in range(len(rest), 0, -1):
        name = ".".join([target, *rest[:length]])
        short = _short(name)
        if short in _GONE:
            if not own_choice(module, node, "tf"):
                _gone(node, short, module, out)
            return
        moved = moved_name(name)
        if not moved:
            continue
        if PACKAGES.get(_short(target)):
            return  # the import moves
        new = name.removesuffix(short.removeprefix("keras.")) + moved.removeprefix("keras.")
        if not new.startswith(f"{target}.") or own_choice(module, node, moved):
            return
        parts = [chain_of(node)[0], *new.removeprefix(f"{target}.").split("."), *rest[length:]]
        out.edits.append(replace_node(module, node, ".".join(parts)))
        return


def _gone(node: ast.AST, name: str, module: Module, out: Outcomes) -> None:
    out.refusals.append(
        Refusal(
            span=module.span(node),
            message=f"{name} was removed in Keras 3",
            hint=_GONE[name].hint,
        )
    )
