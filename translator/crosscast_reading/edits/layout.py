"""Layout of statements in source text (blocks, indentation, comments), and drafts of edits."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import column_at, insert, replace_node

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_DIRECTIVES = ("# noqa", "# type:", "# pragma", "# isort", "# pylint", "# fmt", "# pyright")


def block_of(module: Module, statement: ast.stmt) -> list[ast.stmt]:
    """Return the list of statements that contains a statement."""
    parent = module.parent(statement)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and statement in block:
            return block
    return [statement]


def indent_of(module: Module, statement: ast.stmt) -> str:
    """Return the indentation of a statement."""
    return module.lines[statement.lineno - 1][: statement.col_offset]


def unit_of(module: Module, statement: ast.stmt) -> str:
    """Return one level of indentation, as used in the nearby text."""
    node: ast.AST = statement
    parent = module.parent(node)
    while parent is not None:
        if isinstance(parent, ast.stmt) and isinstance(node, ast.stmt):
            inner, outer = indent_of(module, node), indent_of(module, parent)
            if len(inner) > len(outer) and inner.startswith(outer) and not inner.strip():
                return inner[len(outer) :]
        node, parent = parent, module.parent(parent)
    return "    "


def is_alone(module: Module, statement: ast.stmt) -> bool:
    """Whether nothing but a comment shares the lines of a statement."""
    before = indent_of(module, statement)
    assert statement.end_lineno is not None
    assert statement.end_col_offset is not None
    last = module.lines[statement.end_lineno - 1]
    after = last[column_at(module, statement.end_lineno, statement.end_col_offset) - 1 :].strip()
    return not before.strip() and (not after or after.startswith("#"))


def tokens_of(module: Module, first: int, last: int) -> Iterator[tokenize.TokenInfo]:
    """Yield the tokens of the lines from `first` to `last`, both included."""
    for token in tokenize.generate_tokens(io.StringIO("\n".join(module.lines)).readline):
        if first <= token.start[0] <= last:
            yield token


def comments_in(module: Module, first: int, last: int) -> list[str]:
    """Return the comments in a range of lines, without directives for tools."""
    return [
        token.string
        for token in tokens_of(module, first, last)
        if token.type == tokenize.COMMENT and not token.string.startswith(_DIRECTIVES)
    ]


def has_long_text(module: Module, first: int, last: int) -> bool:
    """Whether a range of lines has a multi-line string, which indentation would change."""
    texts = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    return any(
        token.type in texts and token.start[0] != token.end[0]
        for token in tokens_of(module, first, last)
    )


@dataclass(slots=True)
class Draft:
    """The edits of one module, collected statement by statement."""

    module: Module
    edits: list[Edit] = field(default_factory=list)
    gone: dict[ast.stmt, None] = field(default_factory=dict)
    """Removed statements."""
    _before: dict[ast.stmt, list[str]] = field(default_factory=dict)

    def replace(self, node: ast.expr | ast.stmt, text: str) -> None:
        """Replace a node with a text; its comments move before its statement."""
        self.edits.append(replace_node(self.module, node, text))
        if node.end_lineno != node.lineno:
            statement = self.module.statement_of(node)
            last = (node.end_lineno or node.lineno) - 1
            kept = comments_in(self.module, node.lineno, last)
            if kept and statement is not None:
                self.before(statement, *kept)

    def before(self, statement: ast.stmt, *lines: str) -> None:
        """Insert lines before a statement with its indentation; equal lines only once."""
        lines_before = self._before.setdefault(statement, [])
        if lines_before[-len(lines) :] != list(lines):
            lines_before.extend(lines)

    def after(self, statement: ast.stmt, *lines: str) -> None:
        """Insert lines after a statement and its comment, with its indentation."""
        number = statement.end_lineno or statement.lineno
        row = self.module.lines[number - 1]
        text = "".join(f"\n{indent_of(self.module, statement)}{line}" for line in lines)
        self.edits.append(insert(self.module, number, len(row) + 1, text))

    def enclose(self, first: ast.stmt, last: ast.stmt, head: str) -> None:
        """Enclose statements of one block in a `with`."""
        unit = unit_of(self.module, first)
        self.before(first, head)
        indent = indent_of(self.module, first)
        for number in range(first.lineno, (last.end_lineno or last.lineno) + 1):
            if self.module.lines[number - 1].strip():
                column = len(indent) + 1 if number == first.lineno else 1
                self.edits.append(insert(self.module, number, column, unit))

    def unwrap(self, block: ast.stmt, text: str, rest: Sequence[ast.stmt]) -> None:
        """Replace a `with` by a line and the last statements of its body, one level up."""
        first, last = rest[0], rest[-1]
        before = next(
            number
            for number in range(first.lineno - 1, block.lineno - 1, -1)
            if not self.module.lines[number - 1].lstrip().startswith("#")
        )
        indent, unit = indent_of(self.module, block), indent_of(self.module, first)
        end = (last.end_lineno or last.lineno) + 1
        rows = self.module.lines[before : end - 1]
        rows = [indent + row.removeprefix(unit) if row.startswith(unit) else row for row in rows]
        self.edits.append(
            Edit(
                file=self.module.source.name,
                line=block.lineno,
                column=len(indent) + 1,
                end_line=end - 1,
                end_column=len(self.module.lines[end - 2]) + 1,
                text="\n".join((text, *rows)),
            )
        )

    def remove(self, *statements: ast.stmt) -> None:
        """Remove statements, and enclosing conditions that become empty."""
        self.gone.update(dict.fromkeys(statements))

    def finish(self) -> list[Edit]:
        """Return all edits."""
        self._widen()
        edits = self._placed()
        for statement in self.gone:
            parent = self.module.parent(statement)
            if parent in self.gone:
                continue
            block = block_of(self.module, statement)
            empty = all(child in self.gone for child in block) and parent is not self.module.tree
            if empty and statement is block[0]:
                edits.append(replace_node(self.module, statement, "pass"))
            else:
                edits.append(self._removal(statement))
        return list(dict.fromkeys(edits))

    def _widen(self) -> None:
        """Add enclosing conditions and import `try` blocks that become empty."""
        waiting = list(self.gone)
        for statement in waiting:
            parent = self.module.parent(statement)
            if not isinstance(parent, ast.If | ast.With) or parent in self.gone:
                continue
            if isinstance(parent, ast.With):
                calls = self.module.text(parent.items[0].context_expr) != "torch.no_grad()"
            else:
                calls = any(isinstance(node, ast.Call) for node in ast.walk(parent.test))
                calls = calls or bool(parent.orelse)
            kept = parent in self._before or any(child in self._before for child in parent.body)
            if all(child in self.gone for child in parent.body) and not calls and not kept:
                self.gone[parent] = None
                waiting.append(parent)

    def _placed(self) -> list[Edit]:
        """Return the edits, merged where several are at the same position."""
        merged: dict[tuple[int, int], str] = {}
        rest: list[Edit] = []
        for statement, lines in self._before.items():
            decorators = getattr(statement, "decorator_list", [])
            first = min(node.lineno for node in (statement, *decorators))
            place = (first, len(indent_of(self.module, statement)) + 1)
            indent = indent_of(self.module, statement)
            merged[place] = "".join(f"{line}\n{indent}" for line in lines)
        for edit in self.edits:
            place = (edit.line, edit.column)
            if place == (edit.end_line, edit.end_column):
                merged[place] = merged.get(place, "") + edit.text
            else:
                rest.append(edit)
        edits: list[Edit] = []
        for edit in rest:
            text = merged.pop((edit.line, edit.column), "")
            edits.append(
                Edit(
                    file=edit.file,
                    line=edit.line,
                    column=edit.column,
                    end_line=edit.end_line,
                    end_column=edit.end_column,
                    text=text + edit.text,
                )
            )
        return edits + [insert(self.module, *place, text) for place, text in merged.items()]

    def _removal(self, statement: ast.stmt) -> Edit:
        first, last = statement.lineno, statement.end_lineno or statement.lineno
        indent = indent_of(self.module, statement)
        kept = "".join(f"{indent}{comment}\n" for comment in comments_in(self.module, first, last))
        lines = self.module.lines
        before = lines[first - 2].strip() if first > 1 else ""
        lone = not before or before.endswith(":")
        if not kept and lone and last < len(lines) and not lines[last].strip():
            last += 1  # one of two empty lines
        return Edit(
            file=self.module.source.name,
            line=first,
            column=1,
            end_line=last + 1,
            end_column=1,
            text=kept,
        )


def every_edit(drafts: Iterable[Draft]) -> tuple[Edit, ...]:
    """Return the edits of all drafts."""
    return tuple(edit for draft in drafts for edit in draft.finish())
