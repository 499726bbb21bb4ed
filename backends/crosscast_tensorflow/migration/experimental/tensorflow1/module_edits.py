"""The edits that bring one module from TensorFlow 1 to `tf.compat.v1`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import dropwhile, takewhile

from crosscast_migrate.codemod import Refusal
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.layout import is_alone
from crosscast_reading.edits.node_edits import column_at, insert, insert_before, replace_node
from crosscast_reading.pysource.libraries.public_names import STANDARD
from crosscast_reading.pysource.programs.module import Module
from crosscast_tensorflow.migration.experimental.edits import place_text, remove
from crosscast_tensorflow.migration.experimental.tensorflow1.module_names import (
    PRIVATE,
    Import,
    Use,
    is_unneeded,
)
from crosscast_tensorflow.migration.experimental.tensorflow1.moved_names import (
    PLAIN_INITIALIZERS,
    V1,
    gone,
    moved,
    needs_legacy_keras,
)
from crosscast_tensorflow.migration.experimental.tensorflow1.type_tests import type_tests


@dataclass(slots=True)
class ModuleEdits:
    """The edits of a module, its refusals, and what it needs besides TensorFlow."""

    module: Module
    imports: list[Import]
    uses: list[Use]
    edits: list[Edit] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    needed: dict[str, None] = field(default_factory=dict)
    """Packages and helper modules that the new names are in."""
    renamed: dict[str, str] = field(default_factory=dict)
    """Old name to new name, as far as they differ, for the message."""
    legacy_keras: bool = False
    _added: dict[str, None] = field(default_factory=dict)
    """Import statements to add."""
    _edited: set[int] = field(default_factory=set)
    """Ids of statements that are replaced or removed."""

    @property
    def tensorflow(self) -> str:
        """The local name of TensorFlow; `tf` is imported if there is none."""
        for bound in self.imports:
            if not bound.path and self._is_global(bound.statement):
                return bound.local
        self._added[f"import {V1} as tf"] = None
        return "tf"

    def run(self, *, convert: bool, graphs: bool) -> None:
        """Find the edits.

        Args:
            convert: whether imports without `compat.v1` get it.
            graphs: whether the tensors of the program belong to graphs.
        """
        replaced = {id(use.node): new for use in self.uses if (new := self._new_text(use))}
        for use in self.uses:
            self.legacy_keras |= needs_legacy_keras(use.path)
            if id(use.node) not in replaced and moved(use.path)[0] == "":
                self._check(use)
        done: set[int] = set()
        for bound in self.imports:
            if id(bound.statement) in done or bound.starred:
                continue
            done.add(id(bound.statement))
            same = [other for other in self.imports if other.statement is bound.statement]
            self._import(bound.statement, same, replaced, convert=convert)
        for use in self.uses:
            if id(use.node) in replaced:
                self._replace(use)
        if graphs:
            kept = [use for use in self.uses if id(use.node) not in replaced]
            edits, refusals = type_tests(self.module, kept)
            self.edits += edits
            self.refusals += refusals

    # ---- uses

    def _new_text(self, use: Use) -> str:
        """Return the new qualified name of a use; empty if it keeps its text."""
        plain = PLAIN_INITIALIZERS.get(use.path)
        call = self.module.parent(use.node)
        if (
            plain
            and isinstance(call, ast.Call)
            and call.func is use.node
            and not call.args
            and all(keyword.arg in ("seed", "dtype") for keyword in call.keywords)
        ):
            return plain
        new, rest = moved(use.path)
        if not new:
            return ""
        whole, _ = moved(use.bound.path)
        return "" if whole and use.bound.path else new + rest

    def _replace(self, use: Use) -> None:
        new = self._new_text(use)
        root, _, rest = new.removeprefix(f"{V1}.").partition(".")
        if new.startswith(f"{V1}."):
            text = f"{self.tensorflow}.{new.removeprefix(f'{V1}.')}"
        else:
            self._need(root)
            self._added[f"import {root}"] = None
            text = f"{root}.{rest}" if rest else root
        self.legacy_keras |= needs_legacy_keras(new.removeprefix(f"{V1}."))
        self.renamed[f"tf.{use.path}"] = text
        self.edits.append(replace_node(self.module, use.node, text))

    def _need(self, root: str) -> None:
        self.needed[root] = None
        self.legacy_keras |= needs_legacy_keras(root)

    def _check(self, use: Use) -> None:
        """Refuse a name that is gone."""
        head, hint = gone(use.path)
        if head and not self.module.is_dead(use.node):
            self._refuse(use.node, use.path, hint)

    def _refuse(self, node: ast.AST, path: str, hint: str) -> None:
        self.refusals.append(
            Refusal(
                span=self.module.span(node),
                message=f"tf.{path} is gone and has no certain counterpart",
                hint=hint,
            )
        )

    # ---- imports

    def _import(
        self,
        statement: ast.Import | ast.ImportFrom,
        names: list[Import],
        replaced: dict[int, str],
        *,
        convert: bool,
    ) -> None:
        if isinstance(statement, ast.Import):
            for bound in names:
                self._whole_import(bound, convert=convert)
            return
        moving = [bound for bound in names if moved(bound.path)[0] and not self._loses(bound)]
        replaced_only = [bound for bound in names if self._only_replaced(bound, replaced)]
        lost = [
            bound
            for bound in names
            if bound not in moving and bound not in replaced_only and gone(bound.path)[0]
        ]
        for bound in lost:
            if bound.alias.name == "*" or not self._used(bound):
                self._refuse(statement, bound.path, gone(bound.path)[1])
        if lost:
            return
        kept = [bound for bound in names if bound not in moving and bound not in replaced_only]
        if moving or replaced_only:
            self._new_imports(statement, moving, kept, convert=convert)
        elif convert and names[0].plain and names[0].path.partition(".")[0] not in PRIVATE:
            self._with_v1(statement)
        for bound in names:
            self.legacy_keras |= needs_legacy_keras(bound.path)

    def _loses(self, bound: Import) -> bool:
        """Whether a use of an import that moves has no counterpart: then the import stays."""
        return any(use.bound is bound and not moved(use.path)[0] for use in self.uses)

    def _used(self, bound: Import) -> bool:
        return any(use.bound is bound for use in self.uses)

    def _only_replaced(self, bound: Import, replaced: dict[int, str]) -> bool:
        """Whether nothing is left of an imported name once its uses are replaced."""
        if is_unneeded(bound, self.module, self.uses):
            self.renamed[f"the unused tf.{bound.path}"] = "removed"
            return True
        mine = [use for use in self.uses if use.bound is bound]
        return bool(mine) and bool(bound.path) and all(id(use.node) in replaced for use in mine)

    def _whole_import(self, bound: Import, *, convert: bool) -> None:
        """Edit one name of `import tensorflow as tf` or `import tensorflow.contrib.slim as s`."""
        alias, module = bound.alias, self.module
        new, rest = moved(bound.path)
        if new and not new.startswith(V1) and not self._loses(bound):
            self._need(new.partition(".")[0])
            self.renamed[f"tf.{bound.path}"] = new + rest
            self.edits.append(place_text(module, alias, f"{new}{rest} as {bound.local}"))
        elif new or gone(bound.path)[0]:
            mine = [use for use in self.uses if use.bound is bound]
            if not mine and not is_unneeded(bound, module, self.uses):
                self._refuse(bound.statement, bound.path, gone(bound.path)[1])
            elif all(self._new_text(use) for use in mine) and len(bound.statement.names) == 1:
                self._drop(bound.statement)
        elif convert and bound.plain and bound.path.partition(".")[0] not in PRIVATE:
            name = f"{V1}.{bound.path}" if bound.path else V1
            self.edits.append(place_text(module, alias, f"{name} as {bound.local}"))

    def _new_imports(
        self,
        statement: ast.ImportFrom,
        moving: list[Import],
        kept: list[Import],
        *,
        convert: bool,
    ) -> None:
        """Replace an import of names that moved, and perhaps of others, which are kept."""
        if kept and "#" in self.module.text(statement):
            first = next(iter(moving), kept[0])
            self._refuse(statement, first.path, "import it in a line of its own, and run again")
            return
        lines: list[str] = []
        if kept:
            home = statement.module or ""
            if convert and kept[0].plain and kept[0].path.partition(".")[0] not in PRIVATE:
                home = home.replace("tensorflow", V1, 1)
            names = ", ".join(
                f"{bound.alias.name} as {bound.alias.asname}"
                if bound.alias.asname
                else bound.alias.name
                for bound in kept
            )
            lines.append(f"from {home} import {names}")
        for bound in moving:
            new, rest = moved(bound.path)
            place, _, name = (new + rest).rpartition(".")
            self._need(new.partition(".")[0])
            self.legacy_keras |= needs_legacy_keras((new + rest).removeprefix(f"{V1}."))
            self.renamed[f"tf.{bound.path}"] = new + rest
            if not place:
                lines.append(f"import {name}" + (f" as {bound.local}" * (name != bound.local)))
            else:
                local = f" as {bound.local}" * (name != bound.local)
                lines.append(f"from {place} import {name}{local}")
        if not lines:
            self._drop(statement)
            return
        self._edited.add(id(statement))
        between = "\n" + " " * statement.col_offset if is_alone(self.module, statement) else "; "
        text = between.join(dict.fromkeys(lines))
        self.edits.append(replace_node(self.module, statement, text))

    def _drop(self, statement: ast.stmt) -> None:
        self._edited.add(id(statement))
        edit = remove(self.module, statement)
        if edit is None:
            edit = replace_node(self.module, statement, "pass")
        self.edits.append(edit)

    def _with_v1(self, statement: ast.ImportFrom) -> None:
        row = self.module.lines[statement.lineno - 1]
        start = column_at(self.module, statement.lineno, statement.col_offset) - 1
        place = row.find("tensorflow", start)
        end = place + len("tensorflow")
        self.edits.append(insert(self.module, statement.lineno, end + 1, ".compat.v1"))

    def _is_global(self, statement: ast.stmt) -> bool:
        return statement in self.module.tree.body

    # ---- added lines

    def added_imports(self) -> Iterator[str]:
        """Yield the import statements that the new names need."""
        present = {self.module.text(node) for node in self.module.every(ast.Import)}
        for line in self._added:
            if line not in present:
                yield line

    def add_lines(self, first: list[str], after: list[str]) -> None:
        """Add lines and the imports that the new names need.

        Args:
            first: lines before any import that could import TensorFlow.
            after: lines after the import of TensorFlow.
        """
        statements = [node for node in _after_future(self.module) if id(node) not in self._edited]
        home = next((s for s in statements if self._is_tensorflow(s)), None)
        added = list(self.added_imports())
        if home is not None:
            self._insert_after(home, [*added, *after])
        everything = list(_after_future(self.module))
        place = next((node for node in everything if not _is_standard(node)), None)
        place = place or next(iter(everything), None)
        lines = first if home is not None else [*first, *added, *after]
        if place is not None and lines:
            self._insert_before(place, "".join(f"{line}\n" for line in lines))

    def _insert_before(self, statement: ast.stmt, text: str) -> None:
        """Insert lines before a statement, which perhaps is replaced itself."""
        where = (statement.lineno, column_at(self.module, statement.lineno, statement.col_offset))
        for number, edit in enumerate(self.edits):
            if id(statement) in self._edited and (edit.line, edit.column) == where:
                self.edits[number] = replace(edit, text=text + edit.text)
                return
        self.edits.append(insert_before(self.module, statement, text))

    def _is_tensorflow(self, statement: ast.stmt) -> bool:
        return any(bound.statement is statement and not bound.path for bound in self.imports)

    def _insert_after(self, statement: ast.stmt, lines: list[str]) -> None:
        if lines:
            last = statement.end_lineno or statement.lineno
            column = len(self.module.lines[last - 1]) + 1
            text = "".join(f"\n{line}" for line in lines)
            self.edits.append(insert(self.module, last, column, text))

    def imports_os(self) -> bool:
        """Whether `os` is imported before anything that could import TensorFlow."""
        standard = takewhile(_is_standard, _after_future(self.module))
        return any(
            alias.name == "os" and alias.asname is None
            for node in standard
            if isinstance(node, ast.Import)
            for alias in node.names
        )


def _after_future(module: Module) -> list[ast.stmt]:
    """Return the statements of a module after its documentation and `__future__` imports."""

    def is_head(statement: ast.stmt) -> bool:
        text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        return text or (isinstance(statement, ast.ImportFrom) and statement.module == "__future__")

    return list(dropwhile(is_head, module.tree.body))


def _is_standard(statement: ast.stmt) -> bool:
    """Whether a statement imports only modules of Python itself."""
    if isinstance(statement, ast.Import):
        names = [alias.name for alias in statement.names]
    elif isinstance(statement, ast.ImportFrom) and not statement.level:
        names = [statement.module or ""]
    else:
        return False
    return all(name.partition(".")[0] in STANDARD for name in names)
