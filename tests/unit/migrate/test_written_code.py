"""Code that is written into programs: in files that tools see, and not in strings."""

from __future__ import annotations

import ast
import re
import subprocess
import sysconfig
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from crosscast_migrate.written_code import definitions, with_needed, written_text
from crosscast_paddle.migration.experimental.paddle_names.helpers import (
    all_helpers,
    template_values,
)
from crosscast_tensorflow.migration.experimental.tensorflow1.moved_names import HELPERS
from source_trees import ROOT, modules, tree_of

MAX_LINES = 3
"""Of code in a string: a statement, or a call with few arguments."""
FOLDERS = ("crosscast_torch", "crosscast_tensorflow", "crosscast_paddle", "crosscast_trainers")
RUFF = Path(sysconfig.get_path("scripts")) / "ruff"
FILES = ROOT / "templates" / "migrated"
"""The folder of such code."""
DEFINED = sorted(
    path.relative_to(FILES).as_posix()
    for path in FILES.glob("*/*")
    if path.is_file() and path.stem not in HELPERS
)
"""Files whose definitions are written into modules; the others are whole modules."""


def test_no_module_holds_code_of_programs_in_a_string() -> None:
    folders = [f"backends/{name}/migration" for name in FOLDERS]
    paths = [*modules("translator/crosscast_migrate", *folders)]
    assert len(paths) > 200
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in paths
        if not path.name.startswith("examples")
        for node in code_in_strings(tree_of(path))
    ]
    assert found == []


WRITTEN = '''\
def {name}(value):
    """Return the value."""
    first = value
    return first
'''
PLANTED = f"""\
_TEXT = {WRITTEN!r}
_SHOWN = {WRITTEN.format(name="shown")!r}
_ALSO = "import a\\n\\n\\n" + _SHOWN
CODEMOD = Codemod(code="CM999", examples=(Example(before=_ALSO, after={WRITTEN!r}),))


def write(name):
    return _TEXT.format(name=name)
"""


def test_code_in_a_string_is_found() -> None:
    assert [node.lineno for node in code_in_strings(ast.parse(PLANTED))] == [1]
    used = PLANTED.replace("_TEXT.format(name=name)", "_SHOWN")
    assert [node.lineno for node in code_in_strings(ast.parse(used))] == [1, 2]
    inside = f"def write(name):\n    return f{WRITTEN!r}\n"
    assert [node.lineno for node in code_in_strings(ast.parse(inside))] == [2]
    added = f"def write(name):\n    return 'import ' + name + '\\n' + {WRITTEN!r}\n"
    assert [node.lineno for node in code_in_strings(ast.parse(added))] == [2]
    words = 'def words():\n    return "one two\\nthree four\\nfive six\\nseven eight\\n"\n'
    assert [*code_in_strings(ast.parse(words))] == []


def code_in_strings(tree: ast.Module) -> Iterator[ast.expr]:
    """Yield the strings of a module that are blocks of Python, without those of examples."""
    shown = set(_examples(tree))
    for node in _outermost(tree, shown):
        text = textwrap.dedent(_text(node) or "")
        if sum(bool(line.strip()) for line in text.splitlines()) > MAX_LINES and _is_code(text):
            yield node


def _examples(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the arguments `examples`, and private names that are read by nothing else."""
    readers: dict[str, list[ast.AST]] = {}
    bound = {name: statement for statement in tree.body for name in _bound(statement)}
    for statement in tree.body:
        given = [
            keyword.value
            for call in ast.walk(statement)
            if isinstance(call, ast.Call)
            for keyword in call.keywords
            if keyword.arg == "examples"
        ]
        yield from given
        inside = {node: argument for argument in given for node in ast.walk(argument)}
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                readers.setdefault(node.id, []).append(inside.get(node, statement))
    shown = {name for name in bound if name.startswith("_")} & readers.keys()
    while True:
        examples = {bound[name] for name in shown}
        other = {
            name
            for name in shown
            for reader in readers[name]
            if reader not in examples and isinstance(reader, ast.stmt)
        }
        if not other:
            yield from examples
            return
        shown -= other


def _bound(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.FunctionDef(name=name):
            yield name


def _outermost(node: ast.AST, without: set[ast.AST]) -> Iterator[ast.expr]:
    """Yield strings with what they are joined to, but no docstrings."""
    for child in ast.iter_child_nodes(node):
        is_docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
        if child in without or is_docstring:
            continue
        if isinstance(child, ast.expr) and _text(child) is not None:
            yield child
        else:
            yield from _outermost(child, without)


def _text(node: ast.expr) -> str | None:
    """Return a text, in which an identifier is what is put in; None if it is none."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_text(value) or "x" for value in values)
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            parts = [_text(left), _text(right)]
            return None if parts == [None, None] else "".join(part or "x" for part in parts)
    return None


def _is_code(text: str) -> bool:
    if re.search(r"^ *(def|class) .*:$", text, re.MULTILINE):
        return True
    filled = re.sub(r"\{\w+\}", "x", text).replace("{{", "{").replace("}}", "}")
    for each in (text, filled):
        try:
            ast.parse(each)
        except SyntaxError:
            continue
        return True
    return False


def test_definitions_have_their_decorators_and_what_they_need() -> None:
    known = definitions("tensorflow/keras_additions.py")
    assert known["old_hard_sigmoid"].text.startswith(
        "@tf.keras.utils.register_keras_serializable()"
    )
    assert known["old_hard_sigmoid"].text.endswith("0.5, 0.0, 1.0)\n")
    names = ["fluid_resize_bilinear", "fluid_op"]
    assert [each.name for each in with_needed(names, all_helpers())] == [
        "fluid_op",
        "fluid_resize_nearest",
        "fluid_image_resize",
        "fluid_resize_bilinear",
    ]


@pytest.mark.parametrize("path", DEFINED)
def test_nothing_but_definitions_is_left_out_of_programs(path: str) -> None:
    """Imports are for tools; any other statement would be missing in the program."""
    first, *others = ast.parse(rendered(path)).body
    assert isinstance(first, ast.Expr)
    kinds = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
    assert [ast.unparse(node) for node in others if not isinstance(node, kinds)] == []


def test_printed_modules_are_lint_clean(tmp_path: Path) -> None:
    """Those without templates are checked where they stand."""
    printed = [path for path in DEFINED if path.endswith(".j2")]
    assert len(printed) > 3
    for path in printed:
        (tmp_path / Path(path).with_suffix("").name).write_text(rendered(path))
    command = [str(RUFF), "check", "--isolated", "--select", "E,F,B,I", "--ignore", "E501"]
    done = subprocess.run([*command, tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def rendered(path: str) -> str:
    return written_text(path, **template_values())
