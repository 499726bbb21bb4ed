"""One parsed Python file: its tree, scopes, names, calls and values.

Names that `resolve` gives:

- of libraries: the qualified name, private modules left out (`torch.optim.adam.Adam` is
  `torch.optim.Adam`; the table is in `libraries/public_names.py`);
- of the program: `file:qualname`, as `train.py:Trainer.step`, file as the source is called;
- what is reached through an instance: name of what made it, and the attribute:
  `scaler = GradScaler(); scaler.step` is `torch.cuda.amp.GradScaler.step`; an instance that is
  called: `...GradScaler.__call__`; the instance itself has the name of its class (`evaluate` tells
  `Instance` and `Symbol` apart);
- nothing known: the empty text.

Where several assignments or branches are possible `resolve` gives the first one, `resolve_all`
gives every one, in the order of the text.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, TypeVar

from crosscast.messages.diagnostics import Span
from crosscast.messages.source import Source
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.meaning import meanings_of
from crosscast_reading.pysource.programs.scopes import Binding, Path, Scope, scope_of
from crosscast_reading.pysource.programs.tree_index import Indexer
from crosscast_reading.pysource.syntax.code import code_of
from crosscast_reading.pysource.syntax.nodes import walk

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.program import Program

__all__ = ["Call", "Function", "Module"]

Function = ast.FunctionDef | ast.AsyncFunctionDef
_Node = TypeVar("_Node", bound=ast.AST)


class Module:
    """One parsed file; everything beyond the one pass is found when it is asked for."""

    __slots__ = (
        "_by_kind",
        "_by_node",
        "_code",
        "_imports",
        "_lines",
        "_nodes",
        "_texts",
        "calls",
        "classes",
        "dead",
        "functions",
        "imported",
        "kept",
        "name",
        "parents",
        "path_homes",
        "program",
        "scopes",
        "source",
        "star_imports",
        "stars",
        "tree",
    )

    def __init__(self, source: Source, tree: ast.Module, name: str = "") -> None:
        self.source = source
        self.name = name or dotted_name(source.name)
        self.tree = tree
        self.program: Program
        """What it belongs to, which sets it."""
        self.parents: dict[ast.AST, ast.AST] = {}
        self.scopes: dict[ast.AST, Scope] = {}
        self.dead: set[ast.AST] = set()
        """Statements that can never run; what is within them is not listed."""
        self.functions: dict[str, Function] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        self.imported: list[str] = []
        """Modules named in imports, as written (relative ones with their dots)."""
        self.stars: list[str] = []
        self.star_imports: list[tuple[ast.ImportFrom, str]] = []
        """Modules of which everything is imported."""
        self.path_homes: dict[tuple[str, Path], list[Binding]] = {}
        """`cfg.a.b = v`, by root name and path, wherever the root lives."""
        self._lines: list[str] | None = None
        self._code: str | None = None
        self._imports: dict[str, str] | None = None
        self._nodes: list[ast.AST] | None = None
        self._by_kind: dict[type[ast.AST], list[Any]] = {}
        self._texts: dict[ast.AST, str] = {}
        self.kept: dict[object, Any] = {}
        """What was looked up in it: see `once`."""
        indexer = Indexer(self)
        indexer.run()
        self._by_node = {node: Call(node, self) for node in indexer.call_nodes}
        self.calls: list[Call] = list(self._by_node.values())

    def __repr__(self) -> str:
        return f"Module({self.source.name})"

    @property
    def scope(self) -> Scope:
        """The scope of the module itself."""
        return self.scopes[self.tree]

    @property
    def imports(self) -> dict[str, str]:
        """Local name and qualified name of everything imported, at any depth."""
        if self._imports is None:
            self._imports = {}
            for scope in self.scopes.values():
                for name, bindings in scope.bindings.items():
                    for binding in bindings:
                        if binding.kind == "import":
                            self._imports.setdefault(name, binding.target)
        return self._imports

    @property
    def code(self) -> str:
        """The source without comments and docstrings, whose words do nothing."""
        if self._code is None:
            self._code = code_of(self.tree, self.source.text)
        return self._code

    # ---- places

    @property
    def lines(self) -> list[str]:
        """Source lines without line ends."""
        if self._lines is None:
            text = self.source.text.replace("\r\n", "\n").replace("\r", "\n")
            self._lines = text.replace("\f", " ").split("\n")
        return self._lines

    def text(self, node: ast.AST) -> str:
        """Return the source text of a node in one line, blanks collapsed."""
        text = self._texts.get(node)
        if text is None:
            text = self._texts[node] = " ".join(self._raw(node).split())
        return text

    def _raw(self, node: ast.AST) -> str:
        first = getattr(node, "lineno", None)
        last = getattr(node, "end_lineno", None)
        if first is None or last is None or first > len(self.lines):
            return ""
        begin: int = node.col_offset  # type: ignore[attr-defined]
        end: int = node.end_col_offset  # type: ignore[attr-defined]
        rows = self.lines[first - 1 : last]
        if first == last:
            return _cut(rows[0], begin, end)
        return "\n".join([_cut(rows[0], begin, None), *rows[1:-1], _cut(rows[-1], 0, end)])

    def span(self, node: ast.AST) -> Span:
        """Return the place of a node, with the source line."""
        line = getattr(node, "lineno", 1)
        row = self.lines[line - 1] if line <= len(self.lines) else ""
        begin = len(_cut(row, 0, getattr(node, "col_offset", 0)))
        end = None
        if getattr(node, "end_lineno", None) == line:
            end = len(_cut(row, 0, node.end_col_offset)) + 1  # type: ignore[attr-defined]
        return Span(self.source.name, line, begin + 1, end, row)

    # ---- tree

    @property
    def nodes(self) -> list[ast.AST]:
        """Every node of the file, outer ones first, including unreachable ones."""
        if self._nodes is None:
            self._nodes = walk(self.tree)
        return self._nodes

    def every(self, kind: type[_Node]) -> list[_Node]:
        """Return the nodes of exactly one type, in the order of `nodes`."""
        if not self._by_kind:
            for node in self.nodes:
                self._by_kind.setdefault(node.__class__, []).append(node)
        return self._by_kind.get(kind, [])

    def parent(self, node: ast.AST) -> ast.AST | None:
        """Return the node around a node."""
        return self.parents.get(node)

    def enclosing(self, node: ast.AST, *kinds: type[_Node]) -> _Node | None:
        """Return the nearest ancestor of one of the types."""
        here = self.parents.get(node)
        while here is not None:
            if isinstance(here, kinds):
                return here
            here = self.parents.get(here)
        return None

    def function_of(self, node: ast.AST) -> Function | None:
        """Return the `def` around a node."""
        function = self.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
        return function if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) else None

    def functions_around(self, node: ast.AST) -> list[Function | None]:
        """Return every `def` around a node, inner ones first, and None for the module."""
        functions: list[Function | None] = [self.function_of(node)]
        while (function := functions[-1]) is not None:
            functions.append(self.function_of(function))
        return functions

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        """Return the class around a node."""
        return self.enclosing(node, ast.ClassDef)

    def statement_of(self, node: ast.AST) -> ast.stmt | None:
        """Return the innermost statement that a node is in, or is."""
        return node if isinstance(node, ast.stmt) else self.enclosing(node, ast.stmt)

    def is_dead(self, node: ast.AST) -> bool:
        """Whether a node can never run."""
        here: ast.AST | None = node
        while here is not None:
            if here in self.dead:
                return True
            here = self.parents.get(here)
        return False

    def is_definition(self, node: ast.AST) -> bool:
        """Whether a text stands in the call that defines a flag."""
        call = self.parents.get(node)
        if isinstance(call, ast.keyword):
            call = self.parents.get(call)
        if not isinstance(call, ast.Call):
            return False
        function = call.func
        word = function.attr if isinstance(function, ast.Attribute) else ""
        return word in ("add_argument", "add_arg", "add_option") or word.startswith("DEFINE_")

    def qualname(self, node: ast.AST) -> str:
        """Return the name within the module of a function or class, or of the one around a node."""
        scope = self.scopes.get(node)
        return (scope or self.scope_of(node)).qualname

    def scope_of(self, node: ast.AST) -> Scope:
        """Return the scope in which a node is evaluated."""
        return scope_of(node, self)

    # ---- names

    def resolve(self, node: ast.expr) -> str:
        """Return the qualified name of an expression, or an empty text: see the module."""
        meanings = meanings_of(node, self)
        return meanings[0].name if meanings else ""

    def resolve_all(self, node: ast.expr) -> tuple[str, ...]:
        """Return every name that an expression may have."""
        return tuple(dict.fromkeys(m.name for m in meanings_of(node, self)))

    def owner_of(self, node: ast.AST) -> Module:
        """Return the module of the program that a node is part of: this one, as a rule."""
        if node in self.parents:
            return self
        return next((m for m in self.program.modules if node in m.parents), self)

    def call(self, node: ast.Call) -> Call:
        """Return the record of a call."""
        call = self._by_node.get(node)
        if call is None:  # within dead code
            call = self._by_node[node] = Call(node, self)
        return call


def dotted_name(path: str) -> str:
    """Return the module name that a path suggests: `pkg/train.py` is `pkg.train`."""
    parts = [p for p in path.replace("\\", "/").split("/") if p not in ("", ".", "..")]
    if parts and parts[-1].endswith((".py", ".ipynb")):
        parts[-1] = parts[-1].rpartition(".")[0]
    if len(parts) > 1 and parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts)


def _cut(row: str, begin: int, end: int | None) -> str:
    """Cut a line at UTF-8 offsets, as `ast` counts."""
    if row.isascii():
        return row[begin:end]
    return row.encode("utf-8", "replace")[begin:end].decode("utf-8", "replace")
