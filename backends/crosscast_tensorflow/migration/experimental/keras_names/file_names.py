"""The ends of file names: where they are written, and where a program takes names apart."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.pysource.names.lookup import bindings_of
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_tensorflow.migration.experimental.keras.edits import raw
from crosscast_tensorflow.migration.experimental.keras_names.receivers import named_as_model

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

WEIGHTS = ".weights.h5"
WHOLE = ".keras"
OLD_ENDS = (".h5", ".hdf5", ".keras")
_PATTERN = re.compile(r".*\*\.?(h5|hdf5)|\.?(h5|hdf5)")
_DOTTED = re.compile(r".*(\.h5|\.hdf5)")
_CHECKPOINTS = ("latest_checkpoint", "load_checkpoint", "get_checkpoint_state", "CheckpointManager")
_SAME_END = ("normpath", "abspath", "realpath", "expanduser")
_TAKES_APART = ("replace", "endswith", "removesuffix", "glob", "iglob")


def end_of(path: ast.expr, module: Module, depth: int = 0) -> ast.Constant | None:
    """Return the string constant with which a path ends."""
    if isinstance(path, ast.Constant):
        return path if isinstance(path.value, str) and Path(path.value).name else None
    if isinstance(path, ast.BinOp) and isinstance(path.op, ast.Add | ast.Div):
        return end_of(path.right, module, depth)
    if isinstance(path, ast.JoinedStr) and path.values:
        return end_of(path.values[-1], module, depth)
    if isinstance(path, ast.Call):
        if isinstance(path.func, ast.Attribute) and path.func.attr in ("join", "format"):
            of_path = path.func.attr == "join" and path.args
            return end_of(path.args[-1] if of_path else path.func.value, module, depth)
        if path.args and (_is_text(path) or _joins(path, module)):
            return end_of(path.args[-1], module, depth)
    if isinstance(path, ast.Name) and depth < 3:
        found = list(bindings_of(path.id, path, module))
        value = found[0].value if len(found) == 1 and found[0].kind == "assign" else None
        if value is not None and not found[0].path and found[0].scope.module is module:
            return end_of(value, module, depth + 1)
    if isinstance(path, ast.Attribute) and depth < 3:
        set_once = _of_self(path, module)
        return end_of(set_once, module, depth + 1) if set_once is not None else None
    return None


def _of_self(path: ast.Attribute, module: Module) -> ast.expr | None:
    """Return what a class gives its attribute, if it does so once and in this module."""
    owner = module.class_of(path) if module.text(path.value) == "self" else None
    scope = module.scopes.get(owner) if owner is not None else None
    found = module.program.attribute_bindings(scope, path.attr, None) if scope is not None else ()
    return found[0].assigned if len(found) == 1 and found[0].module is module else None


def _is_text(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "str" and len(call.args) == 1


def _joins(call: ast.Call, module: Module) -> bool:
    """Whether a function of the program only joins its arguments: `os.path.join(*parts)`."""
    found = module.program.function(module.call(call))
    if found is None or found[1].args.args or found[1].args.vararg is None:
        return False
    body = [part for part in found[1].body if not isinstance(part, ast.Expr)]
    given = body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None
    while isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute):
        if given.func.attr == "join":
            return len(given.args) == 1
        given = given.args[0] if given.func.attr in _SAME_END and given.args else None
    return False


def literal_of(end: ast.Constant, module: Module) -> tuple[ast.expr, str] | None:
    """Return the string with an end and its text up to there, without the closing quote.

    None if the string does not close right after the end, as in `'a' 'b'` or an f-string of parts.
    """
    parent = module.parent(end)
    node: ast.expr = parent if isinstance(parent, ast.JoinedStr) else end
    text = raw(module, node)
    for quote in ('"' * 3, "'" * 3, '"', "'"):
        closed = str(end.value) + quote
        if text.endswith(closed) and text.count(quote) == 2:
            return node, text.removesuffix(closed)
    return None


def renamed_end(end: ast.Constant, new: str, module: Module) -> Edit | None:
    """Return the edit that writes a string with another end."""
    found = literal_of(end, module)
    if found is None:
        return None
    node, text = found
    quote = raw(module, node)[len(text) + len(str(end.value)) :]
    return replace_node(module, node, f"{text}{new}{quote}")


def reader(program: Program, ends: set[int], *, checkpoints: bool) -> str | None:
    """Return a text of the program that takes names of files apart, or looks for checkpoints.

    Args:
        program: all of it.
        ends: ids of the strings that are themselves the ends of paths.
        checkpoints: whether to look for checkpoints as well.
    """
    for module, node in _parts(program):
        if id(node) not in ends:
            return module.text(node)
    for module in program.modules if checkpoints else ():
        for used in module.every(ast.Attribute):
            if used.attr in _CHECKPOINTS:
                return str(used.attr)
    return None


def taken_apart(program: Program, ends: set[int], new: str) -> list[Edit] | None:
    """Return the edits of `name.replace(".h5", "")` and the like for another end.

    None if a name is taken apart in another way, or the program has other files with this end.
    """
    if _other_files(program):
        return None
    edits = []
    for module, node in _parts(program):
        parent = module.parent(node)
        found = _DOTTED.fullmatch(str(node.value))
        if id(node) in ends:
            continue
        called = isinstance(parent, ast.Call) and parent.args[:1] == [node]
        if not called or not found or module.call(parent).method not in _TAKES_APART:  # type: ignore[arg-type]
            return None
        text = module.text(node).replace(found[1], new)
        edits.append(replace_node(module, node, text))
    return edits


def _parts(program: Program) -> Iterator[tuple[Module, ast.Constant]]:
    for module in program.modules:
        for node in module.every(ast.Constant):
            if isinstance(node.value, str) and _PATTERN.fullmatch(node.value):
                yield module, node


def _other_files(program: Program) -> bool:
    """Whether a program writes or reads other files of HDF5 than weights."""
    return any(
        canonical(call.name) == "keras.models.load_model"
        or call.name.startswith("h5py.")
        or (
            call.method == "save"
            and call.receiver is not None
            and named_as_model(call.receiver_text)
        )
        for module in program.modules
        for call in module.calls
    )


def other_use(name: str, module: Module, program: Program) -> str | None:
    """Return a text that names the file of weights in a way that renaming would not reach.

    That is a whole model under the same name, a longer path, or another module.
    """
    for call in module.calls:
        saves = call.method == "save" and named_as_model(call.receiver_text)
        whole = saves or canonical(call.name) == "keras.models.load_model"
        given = [*call.node.args[:1], *(k.value for k in call.node.keywords)]
        end = next((end for path in given if whole and (end := end_of(path, module))), None)
        if end is not None and end.value == name:
            return module.text(call.node)
    return named_elsewhere(name, module, program)


def named_elsewhere(name: str, module: Module, program: Program) -> str | None:
    """Return a text that names a file in another module, or as the end of a longer path."""
    for other in program.modules:
        for node in other.every(ast.Constant):
            value = node.value
            if not isinstance(value, str) or other.is_dead(node):
                continue
            if (value == name and other is not module) or value.endswith(f"/{name.lstrip('/')}"):
                return other.text(node)
    return None
