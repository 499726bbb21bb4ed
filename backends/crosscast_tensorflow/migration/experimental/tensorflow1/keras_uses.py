"""The names of TensorFlow in a Keras program of TensorFlow 1, and what replaces them."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from crosscast_migrate.codemod import Refusal
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import insert, replace_node
from crosscast_reading.pysource.programs.module import Module
from crosscast_tensorflow.migration.experimental.edits import raw, remove
from crosscast_tensorflow.migration.experimental.keras.program import open_call
from crosscast_tensorflow.migration.experimental.tensorflow1.added_code import ONES
from crosscast_tensorflow.migration.experimental.tensorflow1.eager_forms import eager_form
from crosscast_tensorflow.migration.experimental.tensorflow1.eager_names import (
    DIFFERENT,
    INITIALIZERS,
    KEPT,
    OF_GRAPHS,
    RENAMED,
    SAME,
    SEEDS,
    STARTS,
)
from crosscast_tensorflow.migration.experimental.tensorflow1.module_names import (
    Import,
    Use,
    imports_of,
    is_unneeded,
    uses_of,
)
from crosscast_tensorflow.migration.experimental.tensorflow1.moved_names import V1, gone, moved
from crosscast_tensorflow.migration.experimental.tensorflow1.session_settings import SessionEdits
from crosscast_tensorflow.migration.experimental.tensorflow1.train_optimizers import (
    OPTIMIZERS,
    arguments_of,
)
from crosscast_tensorflow.migration.experimental.tensorflow1.v1_names import is_v1_name

GRAPHS = (
    "run it again with --to tf.compat.v1, which keeps graphs and sessions; for Keras 3, train with "
    "compile and fit or a GradientTape, and remove this"
)
"""Hint for what belongs to graphs."""
_EAGER = {"contrib.eager.Variable": "Variable", "contrib.eager.Iterator": "iter"}
_SCALES = (
    "train.experimental.enable_mixed_precision_graph_rewrite",
    "train.experimental.DynamicLossScale",
    "train.experimental.FixedLossScale",
)
"""Names that the codemod for the graph rewrite reads."""
_SEEDED = (
    "set_random_seed of Keras seeds the initial weights, and also random and NumPy, which "
    "tf.set_random_seed did not"
)
_PRIVATE = "python.keras"
_PUBLIC = (
    "activations", "applications", "backend", "callbacks", "constraints", "datasets",
    "initializers", "layers", "losses", "metrics", "models", "optimizers", "preprocessing",
    "regularizers", "utils",
)  # fmt: skip


@dataclass(slots=True)
class KerasUses:
    """The edits of a module, its refusals and notes, and what the module must define."""

    module: Module
    imports: list[Import] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    needed: set[str] = field(default_factory=set)
    """Names of `added_code`."""
    handled: list[ast.AST] = field(default_factory=list)
    """What is already replaced or removed, with all that is in it."""
    _free: dict[int, bool] = field(default_factory=dict)
    """Id of an imported alias to whether nothing uses it any more."""

    @property
    def tensorflow(self) -> str:
        """The local name of TensorFlow; empty if it is not imported at the top of the module."""
        top = self.module.tree.body
        names = [bound.local for bound in self.imports if not bound.path and bound.statement in top]
        return next(iter(names), "")

    def refuse(self, node: ast.AST, message: str, hint: str) -> None:
        """Add a refusal."""
        self.refusals.append(Refusal(span=self.module.span(node), message=message, hint=hint))

    def after(self, statement: ast.stmt, text: str) -> None:
        """Insert a statement after another one."""
        row = (statement.end_lineno or statement.lineno) + 1
        line = " " * statement.col_offset + text
        at_end = row > len(self.module.lines)
        column = len(self.module.lines[-1]) + 1 if at_end else 1
        text = f"\n{line}" if at_end else f"{line}\n"
        self.edits.append(insert(self.module, min(row, len(self.module.lines)), column, text))

    def read(self) -> None:
        """Find the imports of TensorFlow."""
        self.imports = imports_of(self.module)

    def run(self) -> None:
        """Find the edits of the names."""
        sessions = SessionEdits(self.module, self.tensorflow or "tf")
        sessions.run()
        self.edits += sessions.edits
        self.refusals += sessions.refusals
        self.notes += sessions.notes
        self.handled += sessions.gone
        uses = uses_of(self.module, self.imports)
        for use in uses:
            free = self._is_handled(use.node) or self._use(use)
            self._free[id(use.bound.alias)] = free and self._free.get(id(use.bound.alias), True)
        for bound in self.imports:
            if bound.starred or any(use.bound is bound for use in uses) or not gone(bound.path)[0]:
                continue
            if is_unneeded(bound, self.module, uses):
                self._free[id(bound.alias)] = True
                self.renamed[f"the unused tf.{bound.path}"] = "removed"
            elif not moved(bound.path)[0]:
                self._lost(bound.statement, bound.path)
        own = {id(b.statement): b.statement for b in self.imports if not b.starred}
        for statement in own.values():
            if isinstance(statement, ast.ImportFrom):
                self._import_from(statement)
            else:
                self._import(statement)

    def _is_handled(self, node: ast.AST) -> bool:
        here: ast.AST | None = node
        while here is not None:
            if here in self.handled:
                return True
            here = self.module.parent(here)
        return False

    def _use(self, use: Use) -> bool:
        """Replace a use, or refuse it; return whether its text no longer has the import."""
        path = use.path
        if self.module.is_dead(use.node):
            return False
        call = self.module.parent(use.node)
        call = call if isinstance(call, ast.Call) and call.func is use.node else None
        form = eager_form(path, call, self.module, self.tensorflow)
        if form and call is not None:
            self.renamed[f"tf.{path}"] = form
            self.edits.append(replace_node(self.module, call, form))
            return True
        if path in STARTS:
            return self._start(use, call)
        if path in OPTIMIZERS:
            return self._optimizer(use, call)
        if path.startswith(("keras.", _PRIVATE)) or path in _SCALES:
            return False
        by_v1 = not use.bound.plain or "compat.v1" in self.module.text(use.node)
        if path in INITIALIZERS:
            return self._initializer(use, call)
        new = self._new(path, call)
        if new is None:
            self._of_graphs(use)
            return False
        if not new or (by_v1 and path not in SEEDS):
            return False
        if path in SEEDS:
            self.notes.append(_SEEDED)
        if use.bound.path and self._import_moves(use.bound):
            return False
        return self._replace(use, new)

    def _new(self, path: str, call: ast.Call | None) -> str | None:
        """Return the new text of a path; empty if it stays, None if it belongs to graphs."""
        if path in SEEDS:
            return "tf.keras.utils.set_random_seed"
        if path in _EAGER:
            return "iter" if _EAGER[path] == "iter" else f"tf.{_EAGER[path]}"
        there, rest = moved(path)
        if there:
            if not there.startswith(f"{V1}."):
                return None
            path = there.removeprefix(f"{V1}.") + rest
            return self._new(path, call) if is_v1_name(path) else f"tf.{path}"
        if path in RENAMED:
            return f"tf.{RENAMED[path]}"
        if _kept(path) or path in DIFFERENT or (path in SAME and not _is_same(path, call)):
            return f"tf.compat.v1.{path}"
        graphs = is_v1_name(path) or any(path == p or path.startswith(f"{p}.") for p in OF_GRAPHS)
        return None if graphs else ""

    def _replace(self, use: Use, text: str) -> bool:
        name = self.tensorflow
        if not name and text != "iter":
            return self._without_name(use)
        new = text if text == "iter" else f"{name}{text.removeprefix('tf')}"
        self.renamed[f"tf.{use.path}"] = new
        self.edits.append(replace_node(self.module, use.node, new))
        return True

    def _without_name(self, use: Use) -> bool:
        self.refuse(
            use.node,
            f"tf.{use.path} has another name, and the module does not import TensorFlow",
            "write import tensorflow as tf at the top of the module, and run again",
        )
        return False

    def _of_graphs(self, use: Use) -> None:
        if gone(use.path)[0]:
            self._lost(use.node, use.path)
        else:
            self.refuse(
                use.node,
                f"tf.{use.path} belongs to graphs and sessions of TensorFlow 1, which Keras 3 does "
                "not train",
                GRAPHS,
            )

    def _lost(self, node: ast.AST, path: str) -> None:
        message = f"tf.{path} is gone and has no certain counterpart"
        self.refuse(node, message, gone(path)[1])

    def _start(self, use: Use, call: ast.Call | None) -> bool:
        statement = self.module.parent(call) if call is not None else None
        plain = call is not None and not call.args and not call.keywords
        edit = remove(self.module, statement) if plain and isinstance(statement, ast.Expr) else None
        if edit is None:
            self._of_graphs(use)
            return False
        self.edits.append(edit)
        self.renamed[f"tf.{use.path}"] = "the default"
        return True

    def _optimizer(self, use: Use, call: ast.Call | None) -> bool:
        row = OPTIMIZERS[use.path]
        arguments = arguments_of(row, call, self.module) if call is not None else None
        if call is None or arguments is None or "#" in raw(self.module, call):
            self.refuse(
                use.node,
                f"tf.{use.path} is used in a way, or with a rate, that is not certain",
                f"write the optimizer of Keras 3: {row.new} with a number or a "
                "LearningRateSchedule",
            )
            return False
        name = self.tensorflow
        if row.new == ONES:
            self.needed.add(ONES)
        elif not name:
            return self._without_name(use)
        owner = row.new if row.new == ONES else f"{name}.keras.optimizers.{row.new}"
        self.renamed[f"tf.{use.path}"] = owner
        self.edits.append(replace_node(self.module, call, f"{owner}({arguments})"))
        return True

    def _initializer(self, use: Use, call: ast.Call | None) -> bool:
        new, order, added = INITIALIZERS[use.path]
        named = {keyword.arg for keyword in call.keywords} if call is not None else set()
        if (
            not self.tensorflow
            or call is None
            or open_call(call)
            or len(call.args) > len(order)
            or not named <= set(order)
            or "#" in raw(self.module, call)
        ):
            defaults = ", ".join(f"{key}={text}" for key, text in added.items())
            self.refuse(
                use.node,
                f"tf.{use.path} has other arguments than {', '.join(order) or 'none'}",
                f"write tf.keras.initializers.{new}"
                + (f"; the defaults here were {defaults}" if defaults else ""),
            )
            return False
        given = named | set(order[: len(call.args)])
        texts = [raw(self.module, argument) for argument in call.args]
        texts += [f"{key.arg}={raw(self.module, key.value)}" for key in call.keywords]
        texts += [f"{key}={text}" for key, text in added.items() if key not in given]
        owner = f"{self.tensorflow}.keras.initializers.{new}"
        self.renamed[f"tf.{use.path}"] = owner
        self.edits.append(replace_node(self.module, call, f"{owner}({', '.join(texts)})"))
        return True

    # ---- imports

    def _import_moves(self, bound: Import) -> bool:
        """Whether an imported name moves with its import: `from tensorflow import gfile`."""
        return bool(self._new_home(bound))

    def _new_home(self, bound: Import) -> str:
        if not isinstance(bound.statement, ast.ImportFrom) or not bound.plain:
            return ""
        path = bound.path
        if path.startswith(f"{_PRIVATE}.") and path.split(".")[2] in _PUBLIC:
            return f"tensorflow.{path.removeprefix('python.')}"
        if path in SEEDS or path in RENAMED or _kept(path):
            new = self._new(path, None) or ""
            return f"tensorflow{new.removeprefix('tf')}"
        return ""

    def _import_from(self, statement: ast.ImportFrom) -> None:
        mine = [bound for bound in self.imports if bound.statement is statement]
        lines: dict[str, list[str]] = {}
        for bound in mine:
            if self._free.get(id(bound.alias), False):
                continue
            home, _, name = (self._new_home(bound) or f"{statement.module}.{bound.alias.name}"
                             ).rpartition(".")  # fmt: skip
            local = "" if name == bound.local else f" as {bound.local}"
            lines.setdefault(home, []).append(f"{name}{local}")
        if lines == {statement.module: [self._as_written(bound.alias) for bound in mine]}:
            return
        if "#" in self.module.text(statement):
            self.refuse(
                statement,
                "an import with comments has names that move",
                "import them in lines of their own, and run again",
            )
            return
        indent = "\n" + " " * statement.col_offset
        text = indent.join(
            f"from {home} import {', '.join(names)}" for home, names in lines.items()
        )
        edit = replace_node(self.module, statement, text) if text else None
        edit = edit or remove(self.module, statement)
        self.edits += [edit] if edit is not None else []

    def _as_written(self, alias: ast.alias) -> str:
        return f"{alias.name} as {alias.asname}" if alias.asname else alias.name

    def _import(self, statement: ast.Import) -> None:
        mine = [bound for bound in self.imports if bound.statement is statement]
        if all(bound.path and self._free.get(id(bound.alias), False) for bound in mine):
            edit = remove(self.module, statement)
            self.edits += [edit] if edit is not None else []


def _kept(path: str) -> bool:
    """Whether a name, or what it is in, works under `tf.compat.v1` without a graph."""
    while path:
        if path in KEPT:
            return True
        path = path.rpartition(".")[0]
    return False


def _is_same(path: str, call: ast.Call | None) -> bool:
    """Whether the function of TensorFlow 2 does the same with the arguments of a call."""
    order, named = SAME[path]
    if call is None:
        return bool(order)
    return (
        not open_call(call)
        and len(call.args) <= len(order)
        and all(keyword.arg in named for keyword in call.keywords)
    )
