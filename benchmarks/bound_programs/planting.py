"""Changes of a program that its library must refuse, chosen by its text alone."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

KINDS = (
    "renamed argument",
    "name that is gone",
    "moved import",
    "wrong method",
    "dead argument",
)


@dataclass(frozen=True, slots=True)
class Plant:
    """A changed text. `line`: of the program; `what`: what was changed; `word`: what is new."""

    kind: str
    text: str
    line: int
    what: str

    @property
    def word(self) -> str:
        """A word that only the change has."""
        return "moved" if self.kind == "moved import" else "of_old"


def plants(text: str, name: str, packages: Sequence[str]) -> Iterator[Plant]:
    """Yield a change of each kind, as far as the program has a place for it.

    Args:
        text: of the file, a program or a notebook.
        name: of the file.
        packages: names of the library's packages.
    """
    code = "\n".join(cells(text)) if name.endswith(".ipynb") else text
    tree = ast.parse(code)
    local = dict(_imports(tree, packages))
    made = _made(tree, local)
    for kind in KINDS:
        for node in ast.walk(tree):
            change = _change(kind, node, local, made, packages)
            if change is not None:
                line, old, new = change
                yield _plant(kind, text, name, code, line, old, new)
                break


def cells(notebook: str) -> Iterator[str]:
    """Yield the code of the cells of a notebook; lines for its shell become comments."""
    for cell in json.loads(notebook)["cells"]:
        if cell["cell_type"] == "code":
            source = "".join(cell["source"])
            lines = source.split("\n")
            yield "\n".join("pass" if line[:1] in ("!", "%") else line for line in lines)


def _imports(tree: ast.Module, packages: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield local name and what it stands for, of what comes from the library."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] in packages:
                    whole = alias.name if alias.asname else alias.name.partition(".")[0]
                    yield alias.asname or whole, whole
        elif isinstance(node, ast.ImportFrom) and not node.level:
            home = node.module or ""
            for alias in node.names if home.partition(".")[0] in packages else ():
                yield alias.asname or alias.name, f"{home}.{alias.name}"


def _path(node: ast.expr, local: dict[str, str]) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in local:
        return ""
    return ".".join((local[node.id], *reversed(parts)))


def _made(tree: ast.Module, local: dict[str, str]) -> set[ast.Call]:
    """Calls of methods of objects that the same function makes of a class of the library."""
    found: set[ast.Call] = set()
    homes = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.Module)]
    for home in homes:
        own = list(_own(home))
        bound: dict[str, list[ast.expr]] = {}
        for assignment in (node for node in own if isinstance(node, ast.Assign)):
            for target in assignment.targets:
                if isinstance(target, ast.Name):
                    bound.setdefault(target.id, []).append(assignment.value)
        made = {
            name
            for name, values in bound.items()
            if len(values) == 1 and name not in local and _is_of_class(values[0], local)
        }
        for node in own:
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=owner))) if owner in made:
                    found.add(node)
    return found


def _own(home: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function or module without those of functions in it."""
    for node in ast.iter_child_nodes(home):
        yield node
        if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            yield from _own(node)


def _is_of_class(node: ast.expr, local: dict[str, str]) -> bool:
    path = _path(node.func, local) if isinstance(node, ast.Call) else ""
    return path.rpartition(".")[2][:1].isupper()


def _change(
    kind: str,
    node: ast.AST,
    local: dict[str, str],
    made: set[ast.Call],
    packages: Sequence[str],
) -> tuple[int, str, str] | None:
    """Return the line of a change with the old and the new text in it; None if none is here."""
    if kind == "moved import":
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in packages:
            return node.lineno, f"from {node.module} ", f"from {node.module}.moved "
        return None
    if kind == "wrong method":
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=attr)):
                if node in made:
                    return node.lineno, f"{owner}.{attr}(", f"{owner}.{attr}_of_old("
        return None
    if kind == "name that is gone":
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            path = _path(node.func, local)
            if path and path.count(".") > 1 and not _of_class(path):
                attr = node.func.attr
                return node.func.end_lineno or node.lineno, f".{attr}(", f".{attr}_of_old("
        return None
    if not isinstance(node, ast.Call) or not _path(node.func, local)[:1]:
        return None
    last = _path(node.func, local).rpartition(".")[2]
    if not last[:1].isupper() or any(k.arg is None for k in node.keywords):
        return None
    if any(isinstance(each, ast.Starred) for each in node.args) or node.lineno != node.end_lineno:
        return None
    if kind == "renamed argument":
        for keyword in node.keywords:
            return node.lineno, f"{keyword.arg}=", f"{keyword.arg}_of_old="
        return None
    given = node.args or node.keywords
    if not given:
        return None
    function = ast.unparse(node.func)
    return node.lineno, f"{function}(", f"{function}(of_old=0, " if not node.args else ""


def _of_class(path: str) -> bool:
    return any(part[:1].isupper() for part in path.split(".")[:-1])


def _plant(kind: str, text: str, name: str, code: str, line: int, old: str, new: str) -> Plant:
    """Write a change into the file itself."""
    row = code.split("\n")[line - 1]
    if kind == "dead argument" and not new:
        inside = row[row.index(old) :]
        new_row = row[: row.index(old)] + _with_argument(inside, old)
    else:
        new_row = row.replace(old, new, 1)
    assert new_row != row, (kind, row, old)
    if not name.endswith(".ipynb"):
        rows = code.split("\n")
        rows[line - 1] = new_row
        return Plant(kind, "\n".join(rows), line, new_row.strip())
    document = json.loads(text)
    past = 0
    for cell in document["cells"]:
        if cell["cell_type"] != "code":
            continue
        lines = "".join(cell["source"]).split("\n")
        if past < line <= past + len(lines):
            lines[line - past - 1] = new_row
            cell["source"] = "\n".join(lines).splitlines(keepends=True)
        past += len(lines)
    return Plant(kind, json.dumps(document), line, new_row.strip())


def _with_argument(row: str, head: str) -> str:
    """Put an argument before the parenthesis that closes a call."""
    depth = 0
    for place in range(len(head) - 1, len(row)):
        depth += (row[place] in "([{") - (row[place] in ")]}")
        if depth == 0:
            return f"{row[:place]}, of_old=0{row[place:]}"
    return row
