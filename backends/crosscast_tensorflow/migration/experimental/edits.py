"""Edits of whole statements and of the arguments of calls, which several eras need."""

from __future__ import annotations

import ast
import io
import tokenize
from typing import TYPE_CHECKING

from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import column_at, insert, replace_node

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module


def place_text(module: Module, node: ast.AST, text: str) -> Edit:
    """Return the edit that replaces any node with a position, including aliases."""
    return replace_node(module, node, text)  # type: ignore[arg-type]


def raw(module: Module, node: ast.expr | ast.stmt) -> str:
    """Return the source text of a node, including line breaks."""
    return ast.get_source_segment("\n".join(module.lines), node) or ""


def renamed(module: Module, keyword: ast.keyword, new: str) -> Edit:
    """Return the edit that renames a keyword argument."""
    column = column_at(module, keyword.lineno, keyword.col_offset)
    return Edit(
        file=module.source.name,
        line=keyword.lineno,
        column=column,
        end_line=keyword.lineno,
        end_column=column + len(keyword.arg or ""),
        text=new,
    )


def with_attribute(module: Module, node: ast.Attribute, new: str) -> Edit:
    """Return the edit that replaces the last part of `a.b.c`, and nothing before it."""
    line = node.end_lineno or node.lineno
    end = column_at(module, line, node.end_col_offset or 0)
    return Edit(
        file=module.source.name,
        line=line,
        column=end - len(node.attr),
        end_line=line,
        end_column=end,
        text=new,
    )


def alone(module: Module, statement: ast.stmt) -> bool:
    """Whether a statement shares its lines with nothing but a comment."""
    return _rest(module, statement) is not None


def _rest(module: Module, statement: ast.stmt) -> str | None:
    """Return the comment after a statement; None if other statements share its lines."""
    last = statement.end_lineno or statement.lineno
    before = module.lines[statement.lineno - 1][
        : column_at(module, statement.lineno, statement.col_offset) - 1
    ]
    after = module.lines[last - 1][column_at(module, last, statement.end_col_offset or 0) - 1 :]
    fits = not before.strip() and (not after.strip() or after.lstrip().startswith("#"))
    return after.strip() if fits else None


def comments(module: Module, statement: ast.stmt) -> list[str]:
    """Return the comments in the lines of a statement."""
    last = statement.end_lineno or statement.lineno
    text = "\n".join(module.lines[statement.lineno - 1 : last]) + "\n"
    found: list[str] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                found.append(token.string)
    except (tokenize.TokenError, SyntaxError):  # an excerpt may be incomplete
        pass
    return found


def remove(module: Module, statement: ast.stmt) -> Edit | None:
    """Return the edit that removes a statement; None if it shares its lines with others.

    Its comments are kept on their own lines. A block with no other statement becomes `pass`; an
    `if` with no other statement is removed as well.
    """
    parent = module.parent(statement)
    blocks = [getattr(parent, name, None) for name in ("body", "orelse", "finalbody", "handlers")]
    block = next((b for b in blocks if isinstance(b, list) and statement in b), [])
    if len(block) == 1:
        if _is_removable(module, parent, block):
            assert isinstance(parent, ast.If)
            return remove(module, parent)
        return replace_node(module, statement, "pass")
    if not alone(module, statement):
        return None
    row = module.lines[statement.lineno - 1]
    indent = row[: len(row) - len(row.lstrip())]
    kept = "".join(f"{indent}{comment}\n" for comment in comments(module, statement))
    return Edit(
        file=module.source.name,
        line=statement.lineno,
        column=1,
        end_line=(statement.end_lineno or statement.lineno) + 1,
        end_column=1,
        text=kept,
    )


def _is_removable(module: Module, parent: ast.AST | None, block: list[ast.stmt]) -> bool:
    """Whether an `if` can be removed together with its only block."""
    return (
        isinstance(parent, ast.If)
        and block is parent.body
        and not parent.orelse
        and _harmless(parent.test)
        and not _is_elif(module, parent)
    )


def _harmless(test: ast.expr) -> bool:
    """Whether a condition has no side effects."""
    return all(
        not isinstance(node, ast.Call | ast.NamedExpr | ast.Await)
        or (isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "hasattr"))
        for node in ast.walk(test)
    )


def _is_elif(module: Module, node: ast.If) -> bool:
    parent = module.parent(node)
    return isinstance(parent, ast.If) and node in parent.orelse


def argument_edits(
    module: Module, call: ast.Call, dropped: list[ast.expr], added: tuple[str, ...] = ()
) -> list[Edit]:
    """Return the edits that remove arguments from a call and append others.

    Args:
        module: module of the call.
        call: at least one argument must remain or be added.
        dropped: values of positional or keyword arguments.
        added: texts of new arguments.
    """
    given = _arguments(call)
    kept = [argument for argument in given if argument[0] not in dropped]
    edits = [_cut(module, call, argument, given) for argument in given if argument[0] in dropped]
    if added:
        last = kept[-1][0] if kept else None
        text = ", ".join(added)
        if last is None:
            line, column = call.end_lineno or 1, call.end_col_offset or 1
            edits.append(insert(module, line, column_at(module, line, column) - 1, text))
        else:
            line, column = last.end_lineno or 1, last.end_col_offset or 1
            edits.append(insert(module, line, column_at(module, line, column), f", {text}"))
    return edits


Argument = tuple[ast.expr, ast.expr | ast.keyword]


def _arguments(call: ast.Call) -> list[Argument]:
    """Return the arguments, each as value and enclosing node, in source order."""
    given: list[Argument] = [(argument, argument) for argument in call.args]
    given += [(keyword.value, keyword) for keyword in call.keywords]
    return sorted(given, key=lambda argument: (argument[1].lineno, argument[1].col_offset))


def _cut(module: Module, call: ast.Call, argument: Argument, given: list[Argument]) -> Edit:
    """Return the edit for one argument and the comma before it (after it for the first one)."""
    place = given.index(argument)
    node = argument[1]
    if place and _commented(module, given[place - 1][1], node):
        return _cut_alone(module, node, given[place + 1 :])
    if place:
        before = given[place - 1][1]
        line, offset = before.end_lineno or 1, before.end_col_offset or 0
        last, end = node.end_lineno or 1, node.end_col_offset or 0
    elif len(given) > 1:
        after = given[1][1]
        line, offset = node.lineno, node.col_offset
        last, end = after.lineno, after.col_offset
    else:
        line, offset = node.lineno, node.col_offset
        last, end = node.end_lineno or 1, node.end_col_offset or 0
    return Edit(
        file=module.source.name,
        line=line,
        column=column_at(module, line, offset),
        end_line=last,
        end_column=column_at(module, last, end),
        text="",
    )


def _commented(module: Module, first: ast.expr | ast.keyword, second: ast.AST) -> bool:
    """Whether there is a comment between two arguments."""
    begin, end = (first.end_lineno or 1) - 1, getattr(second, "lineno", 1) - 1
    if begin == end:
        return False
    head = module.lines[begin][column_at(module, begin + 1, first.end_col_offset or 0) - 1 :]
    return "#" in head or any("#" in row for row in module.lines[begin + 1 : end])


def _cut_alone(module: Module, node: ast.expr | ast.keyword, later: list[Argument]) -> Edit:
    """Return the edit for an argument after a comment, which is kept with the comma before it."""
    line, last = node.lineno, node.end_lineno or node.lineno
    column = column_at(module, line, node.col_offset)
    end = column_at(module, last, node.end_col_offset or 0)
    rest = module.lines[last - 1][end - 1 :].strip()
    if not module.lines[line - 1][: column - 1].strip() and rest in ("", ","):
        line, column, last, end = line, 1, last + 1, 1
    elif later:
        last = later[0][1].lineno
        end = column_at(module, last, later[0][1].col_offset)
    return Edit(
        file=module.source.name,
        line=line,
        column=column,
        end_line=last,
        end_column=end,
        text="",
    )
